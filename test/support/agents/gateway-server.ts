/** A gateway that speaks the HTTP and WebSocket API of Universal Agent, for tests: it says what a script says, and keeps what it was asked. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';

export interface GatewayAsked {
  readonly session: string;
  readonly data: {
    readonly user_input: string;
    readonly force_complex: boolean;
    readonly max_iterations?: number;
    readonly metadata: Readonly<Record<string, unknown>>;
  };
}

/** What it says to one request. */
export type GatewayScript = (socket: WebSocket, asked: GatewayAsked) => void;

export interface GatewayServer {
  readonly url: string;
  readonly asked: readonly GatewayAsked[];
  /** Sessions that were created, with what was asked for. */
  readonly sessions: Map<string, Readonly<Record<string, unknown>>>;
  readonly headers: readonly IncomingHttpHeaders[];
  /** Sockets that are open now. */
  readonly open: () => number;
}

export interface GatewayOptions {
  readonly token?: string;
  /** In place of `{type: connected}`. */
  readonly greeting?: string | undefined;
  /** In place of what is created. */
  readonly create?: (response: ServerResponse) => void;
}

/** Scripts one after the other, the last one for ever. */
export async function gatewayServer(
  t: TestContext,
  scripts: readonly GatewayScript[],
  { token, greeting = JSON.stringify({ type: 'connected' }), create }: GatewayOptions = {},
): Promise<GatewayServer> {
  const asked: GatewayAsked[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const sessions = new Map<string, Readonly<Record<string, unknown>>>();
  const isAllowed = ({ headers: { authorization } }: IncomingMessage): boolean =>
    token === undefined || authorization === `Bearer ${token}`;
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    headers.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const say = (status: number, body: object): void =>
      void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (!isAllowed(request)) return say(401, { detail: `not with ${String(request.headers.authorization)}` });
    const [, id] = /^\/api\/v1\/sessions\/([^/]+)$/.exec(request.url ?? '') ?? [];
    if (id !== undefined) return say(sessions.has(id) ? 200 : 404, { session_id: id, detail: 'Session not found' });
    if (request.method !== 'POST' || request.url !== '/api/v1/sessions') return say(404, { detail: 'Not Found' });
    if (create !== undefined) return create(response);
    const given = JSON.parse(Buffer.concat(chunks).toString()) as Readonly<Record<string, unknown>>;
    const session = String(given['session_id']);
    sessions.set(session, given);
    return say(200, { session_id: session, user_id: given['user_id'], workspace_dir: '/w', metadata: {} });
  };
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    headers.push(request.headers);
    const [, session] = /^\/api\/v1\/sessions\/([^/]+)\/stream$/.exec(request.url ?? '') ?? [];
    if (session === undefined || !sessions.has(session) || !isAllowed(request)) return void socket.destroy();
    sockets.handleUpgrade(request, socket, head, (own) => {
      own.send(greeting);
      own.on('message', (data: Buffer) => {
        const { type, ...more } = JSON.parse(data.toString()) as { readonly type: string; readonly data: object };
        if (type !== 'execute') return;
        const one = { session, data: more.data } as GatewayAsked;
        asked.push(one);
        scripts[Math.min(asked.length, scripts.length) - 1]?.(own, one);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked, sessions, headers, open: () => sockets.clients.size };
}

/** Says these events, and that it is done. */
export const saying =
  (...events: readonly object[]): GatewayScript =>
  (socket) => {
    for (const event of [...events, { type: 'query_complete', data: { trace_id: 'trace-1' } }])
      socket.send(JSON.stringify(event));
  };

export const text = (words: string): object => ({ type: 'text', data: { text: words } });

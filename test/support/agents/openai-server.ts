/** An endpoint that speaks the protocol of OpenAI, for tests: it answers as a script says, and keeps what it was asked. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface ChatAsked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ChatBody;
}

export interface ChatBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly stream?: boolean;
  readonly tools?: readonly unknown[];
  readonly [name: string]: unknown;
}

/** Writes an answer. */
export type ChatAnswer = (response: ServerResponse, asked: ChatAsked) => void;

export interface OpenAiServer {
  readonly baseUrl: string;
  readonly asked: readonly ChatAsked[];
  /** Connections that are open now. */
  readonly open: () => number;
}

/** Answers one after the other, the last one for ever. */
export async function openAiServer(t: TestContext, ...answers: readonly ChatAnswer[]): Promise<OpenAiServer> {
  const asked: ChatAsked[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(Buffer.concat(chunks).toString() || '{}') as ChatBody,
      };
      asked.push(one);
      answers[Math.min(asked.length, answers.length) - 1]?.(response, one);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, asked, open: () => sockets.size };
}

/** A completion with a text, or with calls of tools. */
export function completion(
  content: string | null,
  more: { readonly calls?: readonly object[]; readonly usage?: object } = {},
): ChatAnswer {
  const { calls = [], usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } } = more;
  return json(200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'test-model',
    choices: [
      {
        index: 0,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
        message: { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
      },
    ],
    usage,
  });
}

/** A call as the protocol has it. */
export const toolCall = (id: string, name: string, args: object): object => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

export function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): ChatAnswer {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Server-sent events of these pieces, written in bits of so many bytes, each in a packet of its own. */
export function stream(pieces: readonly (object | string)[], bytes: number): ChatAnswer {
  return (response) => {
    const events = pieces.map((piece) => `data: ${typeof piece === 'string' ? piece : JSON.stringify(piece)}\r\n\r\n`);
    const all = Buffer.from(`: a comment\n\n${events.join('')}`);
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    const write = (from: number): void => {
      if (from >= all.length) response.end();
      else response.write(all.subarray(from, from + bytes), () => setImmediate(write, from + bytes));
    };
    write(0);
  };
}

/** The pieces of a streamed text. */
export function pieces(...deltas: readonly object[]): readonly (object | string)[] {
  const piece = (delta: object, finish: string | null): object => ({
    id: 'chatcmpl-2',
    model: 'test-model',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const isCalling = deltas.some((delta) => 'tool_calls' in delta);
  return [
    ...deltas.map((delta) => piece(delta, null)),
    piece({}, isCalling ? 'tool_calls' : 'stop'),
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } },
    '[DONE]',
  ];
}

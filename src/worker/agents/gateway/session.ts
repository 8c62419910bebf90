/** Sessions of a gateway over HTTP, and one request in a session over a WebSocket: the gateway API of Universal Agent. */
import { createHash } from 'node:crypto';
import { jsonIn } from '../../../flow/agent/answer-json.ts';
import type { AgentError, AgentResult } from '../../../flow/agent/result.ts';
import { isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';
import { exchange, hostOf, onlyThese } from '../../handlers/http/http-exchange.ts';
import type { Reach } from '../chat-endpoint.ts';
import { broken, GatewayAnswer, type GatewayBefore, type GatewayFacts } from './answer.ts';
import type { GatewaySettings } from './settings.ts';

export interface Gateway {
  readonly settings: GatewaySettings;
  readonly reach: Reach;
}

/** What the gateway did wrong. */
export class GatewayFailed extends Error {
  readonly error: AgentError;

  constructor(error: AgentError) {
    super(error.message);
    this.error = error;
  }
}

const MOST_MESSAGE = 4 * 1024 * 1024;
/** More messages are no answer. */
const MOST_MESSAGES = 100_000;
const HANDSHAKE_MS = 30_000;
const SESSION = /^[\w.:-]{1,200}$/;

/** The session that a step begins, by the same name in every attempt: another one goes on with it. */
export const sessionFor = (key: string): string =>
  `leasehold-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;

/** Resumes the session, or creates it. Gives the name that the gateway has for it. */
export async function openSession(gateway: Gateway, session: string, signal: AbortSignal): Promise<string> {
  const found = await askGateway(gateway, 'GET', `sessions/${encodeURIComponent(session)}`, undefined, signal);
  if (found.status === 200) return session;
  if (found.status !== 404) throw refused(found.status, found.body);
  const { userId, workspace } = gateway.settings;
  const made = await askGateway(
    gateway,
    'POST',
    'sessions',
    { user_id: userId, session_id: session, ...(workspace === undefined ? {} : { workspace_dir: workspace }) },
    signal,
  );
  if (made.status !== 200 && made.status !== 201) throw refused(made.status, made.body);
  const { session_id: own } = made.body;
  if (typeof own === 'string' && SESSION.test(own)) return own;
  throw new GatewayFailed(broken('BadAnswer', 'its new session has no session_id', true));
}

interface Answered {
  readonly status: number;
  readonly body: ValueMap;
  readonly list?: readonly Value[];
}

/** One call of its HTTP API. `list`: what it says is one. */
export async function askGateway(
  { settings, reach }: Gateway,
  method: 'GET' | 'POST',
  path: string,
  body: ValueMap | undefined,
  signal: AbortSignal,
): Promise<Answered> {
  const url = new URL(`api/v1/${path}`, settings.base);
  const response = await exchange({
    method,
    url,
    headers: {
      'User-Agent': 'leasehold',
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...proof(settings),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    addresses: await reach(url, signal),
    signal,
  });
  if (response.cut)
    throw new GatewayFailed(broken('BadAnswer', `it says more than ${response.body.length} bytes`, false));
  const value = jsonIn(response.body.toString());
  return { status: response.status, body: isMap(value) ? value : {}, ...(Array.isArray(value) ? { list: value } : {}) };
}

const proof = ({ token }: GatewaySettings): Readonly<Record<string, string>> =>
  token === undefined ? {} : { Authorization: `Bearer ${token}` };

export interface GatewayRequest {
  readonly prompt: string;
  readonly key: string;
  /** It was cut off. */
  readonly before?: GatewayBefore | undefined;
}

interface Hearing {
  readonly signal: AbortSignal;
  readonly onEvent?: ((event: ValueMap) => void) | undefined;
  /** After each iteration. */
  readonly keep?: ((facts: GatewayFacts) => Promise<void>) | undefined;
}

/** Sends the prompt, and hears what comes of it until the gateway says that it is done. Rejects with the reason of the signal. */
export async function execute(
  { settings, reach }: Gateway,
  { session, ...asked }: GatewayRequest & { readonly session: string },
  { signal, onEvent, keep }: Hearing,
): Promise<AgentResult> {
  const url = new URL(`api/v1/sessions/${encodeURIComponent(session)}/stream`, settings.base);
  const addresses = await reach(url, signal);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  // Loaded here: most agents have no gateway.
  const { WebSocket } = await import('ws');
  signal.throwIfAborted();
  const answer = new GatewayAnswer(settings.maxIterations, asked.before);
  const end = Promise.withResolvers<AgentError | undefined>();
  const socket = new WebSocket(url, {
    headers: proof(settings),
    lookup: onlyThese(addresses),
    ...(url.protocol === 'wss:' ? { servername: hostOf(url) } : {}),
    perMessageDeflate: false,
    followRedirects: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MOST_MESSAGE,
  });
  let isAsked = false;
  let messages = 0;
  const hear = (text: string): void => {
    const event = jsonIn(text);
    if (!isMap(event) || ++messages > MOST_MESSAGES) {
      const what = isMap(event) ? `it says more than ${MOST_MESSAGES} messages` : 'what it says is not JSON';
      return end.resolve(broken('BadAnswer', what, false));
    }
    if (!isAsked) {
      if (event['type'] !== 'connected') return end.resolve(answered(answer.take(event)));
      isAsked = true;
      return socket.send(JSON.stringify({ type: 'execute', data: request(settings, asked) }));
    }
    onEvent?.(event);
    const said = answer.take(event);
    // An attempt whose lease is gone keeps nothing more.
    if (event['type'] === 'iteration_end') keep?.(answer.facts).catch(end.reject);
    if (said === 'complete') end.resolve(undefined);
    else if (said !== undefined) end.resolve(said);
  };
  socket.on('message', (data: Buffer) => hear(data.toString()));
  socket.on('error', (error: NodeJS.ErrnoException) =>
    end.resolve(broken(error.code ?? 'ConnectionError', error.message, true)),
  );
  socket.on('close', () => end.resolve(broken('Closed', 'it closed the connection before the request was done', true)));
  const stop = (): void => end.reject(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const error = await end.promise;
    const result = error === undefined ? answer.result(session) : { error, ...answer.spent, session_id: session };
    return error === undefined ? result : { ...result, finish_reason: 'error' };
  } finally {
    signal.removeEventListener('abort', stop);
    // Whether it hears of it or not: nobody waits for what it says any more.
    socket.terminate();
  }
}

/** Something came where `connected` should. */
function answered(said: ReturnType<GatewayAnswer['take']>): AgentError {
  return said === undefined || said === 'complete'
    ? broken('BadAnswer', 'it does not say "connected" first', false)
    : said;
}

const resuming = (prompt: string): string =>
  `The connection was cut off while you worked on this. Go on where you stopped, and do not repeat what is already done.\n\n${prompt}`;

function request(
  { forceComplex, maxIterations, metadata, resumePrompt }: GatewaySettings,
  { prompt, key, before }: GatewayRequest,
): ValueMap {
  const left = maxIterations === undefined ? undefined : Math.max(1, maxIterations - (before?.iterations ?? 0));
  return {
    user_input: before === undefined ? prompt : (resumePrompt ?? resuming(prompt)),
    force_complex: forceComplex,
    ...(left === undefined ? {} : { max_iterations: left }),
    metadata: { ...metadata, idempotency_key: key, ...(before === undefined ? {} : { resume: true }) },
  };
}

export function refused(status: number, { detail, message, error }: ValueMap): GatewayFailed {
  const words = [detail, message, error].find((one) => typeof one === 'string');
  const told = broken(
    `HTTP_${status}`,
    `it answered ${status}${typeof words === 'string' ? `: ${words}` : ''}`,
    status >= 500 || status === 429,
  );
  const code = status === 401 || status === 403 ? 'auth_error' : status === 429 ? 'rate_limit' : told.code;
  return new GatewayFailed({ ...told, code, status_code: status });
}

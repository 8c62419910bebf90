/** An endpoint that speaks the protocol of OpenAI. */

import type { IncomingMessage } from 'node:http';
import type { World } from '../../core/world.ts';
import { jsonIn } from '../../flow/agent/answer-json.ts';
import { rateLimitOf } from '../../flow/agent/rate-limit.ts';
import type { AgentError, AgentResult } from '../../flow/agent/result.ts';
import { Secrets } from '../../flow/agent/secrets.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import { headersOf, type ResolvedAddress, send } from '../handlers/http/http-exchange.ts';
import { CompletionPieces, completionResult, garbage, refusedResult, retryAfterOf } from './chat-answer.ts';
import { LineSplitter } from './lines.ts';
import type { ModelSettings } from './model-settings.ts';
import { withinMs } from './within.ts';

/** The addresses of a URL. Rejects if it may not be reached from here. */
export type Reach = (url: URL, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>;

export interface ChatRequest {
  /** Besides the parameters of the model. */
  readonly body: ValueMap;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly onEvent?: ((event: ValueMap) => void) | undefined;
}

const MOST_BYTES = 16 * 1024 * 1024;
const BOUNDS = { line: 4 * 1024 * 1024, total: 64 * 1024 * 1024 };

/** One exchange. What the endpoint does wrong is an error in the result; it only rejects with the reason of the signal. */
export async function askEndpoint(
  settings: ModelSettings,
  request: ChatRequest,
  world: Pick<World, 'clock' | 'timers'>,
  reach: Reach,
): Promise<AgentResult> {
  try {
    const result = await withinMs(world.timers, settings.timeoutMs, request.signal, (signal) =>
      exchanged(settings, { ...request, signal }, world, reach),
    );
    const provider = {
      ...(settings.provider === undefined ? {} : { provider: settings.provider }),
      ...result.provider_data,
    };
    // It may say back what it was sent.
    const secrets = new Secrets([settings.key, ...Object.values(settings.headers)]);
    return { ...secrets.hideInError(result), provider_data: provider };
  } catch (error) {
    request.signal.throwIfAborted();
    return { error: transportError(error, settings.url), finish_reason: 'error' };
  }
}

async function exchanged(
  settings: ModelSettings,
  { body, key, signal, onEvent }: ChatRequest,
  { clock }: Pick<World, 'clock'>,
  reach: Reach,
): Promise<AgentResult> {
  const { url, stream, prices } = settings;
  const streaming = stream ? { stream: true, stream_options: { include_usage: true } } : {};
  const response = await send({
    method: 'POST',
    url,
    headers: requestHeaders(settings, key),
    body: JSON.stringify({ ...streaming, ...settings.parameters, ...body }),
    addresses: await reach(url, signal),
    signal,
  });
  const headers = headersOf(response);
  const status = response.statusCode ?? 0;
  if (status !== 200) return refusedResult(status, jsonIn(await bodyOf(response)), headers, clock.wall());
  const isStream = String(headers['content-type'] ?? '').includes('text/event-stream');
  const result = isStream ? await streamed(response, onEvent, prices) : await whole(response, prices);
  const limit = rateLimitOf(headers, retryAfterOf(headers, clock.wall()));
  return limit === undefined ? result : { ...result, rate_limit: limit };
}

function requestHeaders(
  { key: secret, headers, stream }: ModelSettings,
  key: string,
): Readonly<Record<string, string>> {
  return {
    'User-Agent': 'leasehold',
    'Content-Type': 'application/json',
    Accept: stream ? 'text/event-stream' : 'application/json',
    'Idempotency-Key': encodeURIComponent(key).slice(0, 200),
    ...(secret === undefined ? {} : { Authorization: `Bearer ${secret}` }),
    ...headers,
  };
}

async function whole(response: IncomingMessage, prices: ModelSettings['prices']): Promise<AgentResult> {
  const text = await bodyOf(response);
  const value = jsonIn(text);
  if (value !== undefined) return completionResult(value, prices);
  const why = Buffer.byteLength(text) >= MOST_BYTES ? `it has more than ${MOST_BYTES} bytes` : 'it is not JSON';
  return { error: garbage(why), finish_reason: 'error' };
}

/** Server-sent events: `data:` lines, each with a piece; `[DONE]` is the end. */
async function streamed(
  response: IncomingMessage,
  onEvent: ChatRequest['onEvent'],
  prices: ModelSettings['prices'],
): Promise<AgentResult> {
  const pieces = new CompletionPieces();
  let state: 'open' | 'done' | 'over' = 'open';
  let broken = '';
  const lines = new LineSplitter(
    BOUNDS,
    (line) => {
      if (!line.startsWith('data:') || state !== 'open') return;
      const data = line.slice(5).trim();
      if (data === '[DONE]') {
        state = 'done';
        return;
      }
      const piece = jsonIn(data);
      if (piece === undefined) {
        state = 'over';
        broken = 'a piece of the stream is not JSON';
        return;
      }
      pieces.take(piece);
      onEvent?.({ type: 'chunk', chunk: piece });
    },
    (what) => {
      state = 'over';
      broken = what;
    },
  );
  for await (const chunk of response as AsyncIterable<Buffer>) {
    lines.push(chunk);
    // Leaving the loop closes the connection.
    if ((state as string) !== 'open') break;
  }
  lines.end();
  if ((state as string) === 'over') return { error: garbage(broken), finish_reason: 'error' };
  return pieces.result((state as string) === 'done', prices);
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MOST_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8');
}

/** Refused, cut off, not found: it may be there later. What may not be reached stays so. */
function transportError(error: unknown, url: URL): AgentError {
  if (error instanceof StateError && error.type === 'TimeoutError') {
    return { code: 'timeout', type: 'TimeoutError', message: `${url.origin} did not answer in time`, retryable: true };
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const type = code ?? 'ConnectionError';
  const retryable = code !== 'REFUSED';
  return { code: 'server_error', type, message: `${url.origin} could not be asked: ${message}`, retryable };
}

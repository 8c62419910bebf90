import { fault, isEngineError } from '../core/errors.ts';
import { PATHS } from '../protocol/paths.ts';
import type { RouteName } from '../protocol/routes.ts';
import { errorOfAnswer, errorOfFetch, tooOld } from './problem.ts';

const MIB = 1024 * 1024;
/** A page of tasks with large inputs has some dozens of MiB. */
const MAX_ANSWER_BYTES = 256 * MIB;
const MAX_ERROR_BYTES = MIB;

export type Params = Readonly<Record<string, string | number>>;
export type Query = Readonly<Record<string, unknown>>;

/** One request, which can be sent as often as needed. */
export interface Request {
  readonly name: RouteName;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface RequestParts {
  /** The address of the node, without a path. */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly params?: Params | undefined;
  readonly query?: Query | undefined;
  readonly body?: unknown;
}

export function requestOf(name: RouteName, { origin, headers, params = {}, query = {}, body }: RequestParts): Request {
  const [method, path] = PATHS[name].split(' ') as [string, string];
  const filled = path.replace(/\{(\w+)\}/g, (_, part: string) => segment(part, params[part]));
  const search = searchOf(query);
  return {
    name,
    method,
    url: `${origin}${filled}${search === '' ? '' : `?${search}`}`,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** A path segment `.` or `..` would lead to another path, however it is encoded. */
function segment(part: string, value: string | number | undefined): string {
  const text = String(value ?? '');
  if (text === '' || text === '.' || text === '..') {
    throw fault('INVALID_INPUT', { field: part, problem: `${JSON.stringify(text)} names nothing` });
  }
  return encodeURIComponent(text);
}

function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (typeof one === 'string' || typeof one === 'number') search.append(name, String(one));
      else if (one === true) search.append(name, '1');
    }
  }
  return search.toString();
}

/** The part of `fetch` that is used here. */
export type Fetch = (url: string, init: FetchInit) => Promise<Fetched>;

export interface FetchInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly redirect: 'error';
  readonly body?: string;
}

/** The part of a `Response` that is used here. */
export interface Fetched {
  readonly ok: boolean;
  readonly status: number;
  readonly body: { getReader(): FetchedReader } | null;
}

interface FetchedReader {
  read(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export interface SendOptions {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** Sends the request once; throws the error that the node answers with. */
export async function send(request: Request, { fetch, signal }: SendOptions): Promise<Fetched> {
  const { name, method, url, headers, body } = request;
  // A redirect would take the token to an address that nobody has named.
  const init = { method, headers, signal, redirect: 'error' as const };
  const response = await fetch(url, body === undefined ? init : { ...init, body }).catch((thrown: unknown) => {
    signal.throwIfAborted();
    throw errorOfFetch(thrown, originOf(url));
  });
  if (response.ok) return response;
  const answer = await textOf(response, MAX_ERROR_BYTES)
    .then((text) => JSON.parse(text) as unknown)
    .catch(() => undefined);
  const error = errorOfAnswer(answer, response.status, originOf(url));
  throw isEngineError(error, 'NOT_FOUND') && error.message.startsWith('There is no page ')
    ? tooOld(PATHS[name], originOf(url))
    : error;
}

/** The whole answer. */
export async function readAnswer(response: Fetched, { name, url }: Request): Promise<unknown> {
  if (response.status === 204) return undefined;
  const text = await textOf(response, MAX_ANSWER_BYTES).catch((thrown: unknown) => {
    throw thrown instanceof TooLong
      ? fault('NODE_UNREACHABLE', { url: originOf(url), problem: thrown.message, hopeless: true })
      : errorOfFetch(thrown, originOf(url));
  });
  if (name === 'metrics') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const problem = 'what answers there is not a node';
    throw fault('NODE_UNREACHABLE', { url: originOf(url), problem, hopeless: true }, { cause });
  }
}

/** Reads no more than that, whatever somebody sends who is not the node, or no honest one. */
async function textOf({ body }: Fetched, mostBytes: number): Promise<string> {
  // Not by `for await`, which not every browser has for streams.
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    bytes += next.value.length;
    if (bytes > mostBytes) {
      await reader?.cancel();
      throw new TooLong(mostBytes);
    }
    text += decoder.decode(next.value, { stream: true });
  }
  return text + decoder.decode();
}

class TooLong extends Error {
  constructor(mostBytes: number) {
    super(`its answer is longer than ${mostBytes / MIB} MiB`);
  }
}

function originOf(url: string): string {
  return new URL(url).origin;
}

import { fault } from '../core/errors.ts';
import { isRepeatable, type RepeatableName, type RequestOf, type StreamName } from '../protocol/paths.ts';
import type { AnswerOf, ParamsOf, QueryOf, RouteName } from '../protocol/routes.ts';
import { Endpoints } from './endpoints.ts';
import type { Message } from './messages.ts';
import { isTransient, wasNeverSent } from './problem.ts';
import {
  type Fetch,
  type Fetched,
  type Params,
  type Query,
  type Request,
  readAnswer,
  requestOf,
  send,
} from './request.ts';
import { resumableBytes } from './resumable-bytes.ts';
import { resumableStream } from './resumable-stream.ts';
import { REAL_CLOCK, RetryBackoff, type RetryClock } from './retry-backoff.ts';
import { Semaphore } from './semaphore.ts';

export type { AnswerOf };

export interface ClientOptions {
  /**
   * The address of the node, `http://127.0.0.1:7420`, or of several nodes of one cluster with commas between them: when one
   * is away the client goes to the next.
   */
  readonly url: string;
  /** Without one only open routes can be called. */
  readonly token?: string | undefined;
  /** The name that histories record, where several people share a token. */
  readonly by?: string | undefined;
  /** How long one request may take; default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** How long a repeatable call is retried while the node is away; default 15 s. */
  readonly patienceMs?: number | undefined;
  /** The same for a stream, from the moment it broke; default 10 min. */
  readonly streamPatienceMs?: number | undefined;
  /** Called when a stream has lost its node, and without an error when it is back. */
  readonly onAway?: ((error: Error | undefined) => void) | undefined;
  readonly clock?: RetryClock | undefined;
  /** Default: that of the host. */
  readonly fetch?: Fetch | undefined;
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Overrides that of the client. */
  readonly timeoutMs?: number | undefined;
  /** Overrides that of the client; 0 asks once. */
  readonly patienceMs?: number | undefined;
  /** Overrides that of the client. */
  readonly by?: string | undefined;
}

/** For a change of a tree: called as tasks are found, and then as they are done. A node reports nothing before the end. */
interface ProgressPart {
  readonly onProgress?: ((progress: { readonly found: number; readonly done: number }) => void) | undefined;
}

type Part<Name extends string, Value> = [keyof Value] extends [never] ? unknown : { readonly [K in Name]: Value };
type BodyPart<N extends RouteName> = RequestOf<N> extends undefined ? unknown : { readonly body: RequestOf<N> };
type QueryPart<N extends RouteName> = [keyof QueryOf<N>] extends [never]
  ? unknown
  : { readonly query?: Queried<QueryOf<N>> | undefined };
type Queried<T> = { readonly [K in keyof T]?: T[K] extends (infer I)[] ? readonly I[] : T[K] | undefined };
/** The idempotency key of the call; made where none is given. */
type KeyPart<N extends RouteName> = N extends RepeatableName ? { readonly key?: string | undefined } : unknown;

/** The input of a call besides its name. */
export type CallInput<N extends RouteName> = CallOptions &
  Part<'params', ParamsOf<N>> &
  QueryPart<N> &
  BodyPart<N> &
  KeyPart<N> &
  (N extends 'cancelTask' | 'retryTask' ? ProgressPart : unknown);

export type CallArgs<T> = Record<never, never> extends T ? [ask?: T] : [ask: T];

interface UntypedCall extends CallOptions {
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: unknown;
  readonly key?: string;
}

const TIMEOUT_MS = 30_000;
const PATIENCE_MS = 15_000;
const STREAM_PATIENCE_MS = 600_000;
/** Three pings of a node. */
const SILENT_MS = 45_000;
/** Each request has a connection of its own; a thousand answers come as fast through these. */
const AT_ONCE = 16;

/** A node, or the nodes of a cluster as one. */
export class Client {
  readonly #endpoints: Endpoints;
  readonly #options: ClientOptions;
  readonly #clock: RetryClock;
  readonly #semaphore = new Semaphore(AT_ONCE);
  readonly #closing = new AbortController();

  constructor(options: ClientOptions) {
    this.#endpoints = new Endpoints(options.url);
    this.#options = options;
    this.#clock = options.clock ?? REAL_CLOCK;
  }

  /** The node that is asked at present. */
  get origin(): string {
    return this.#endpoints.current;
  }

  /** All nodes that may be asked. */
  get origins(): readonly [string, ...string[]] {
    return this.#endpoints.all;
  }

  /** Calls that wait for an answer reject. */
  close(): void {
    this.#closing.abort(fault('STORE_CLOSED'));
  }

  async call<N extends RouteName>(name: N, ...[ask]: CallArgs<CallInput<N>>): Promise<AnswerOf<N>> {
    return (await this.#callWithRetry(name, (ask ?? {}) as UntypedCall)) as AnswerOf<N>;
  }

  /** The messages of a stream after the id `last`, over as many connections as it takes. */
  async *stream<N extends StreamName>(
    name: N,
    ask: CallInput<N> & { readonly last?: string | undefined },
  ): AsyncGenerator<Message & { readonly data: string }> {
    const { params, query, last, signal } = ask as UntypedCall & { readonly last?: string };
    const { onAway, streamPatienceMs = STREAM_PATIENCE_MS } = this.#options;
    const closing = this.#closing.signal;
    let origin = this.origin;
    yield* resumableStream({
      connect: (behind, over) => {
        origin = this.origin;
        const request = this.#request(name, {
          ...(params === undefined ? {} : { params }),
          query: { ...query, ...(name === 'readLog' ? { follow: true } : {}) },
        });
        const headers = { ...request.headers, accept: 'text/event-stream' };
        return this.#send(
          { ...request, headers: behind === undefined ? headers : { ...headers, 'last-event-id': behind } },
          over,
        );
      },
      last,
      ends: name !== 'streamEvents',
      backoff: new RetryBackoff(this.#clock, streamPatienceMs),
      signal: signal === undefined ? closing : AbortSignal.any([signal, closing]),
      onAway,
      onBroken: () => this.#endpoints.failOver(origin),
      silentMs: SILENT_MS,
    });
    if (!signal?.aborted) closing.throwIfAborted();
  }

  /** The bytes of an artifact, over as many connections as it takes: each begins after the last byte of the one before. */
  bytes(
    { id, size }: { readonly id: string; readonly size: number },
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Uint8Array> {
    const { streamPatienceMs = STREAM_PATIENCE_MS, onAway } = this.#options;
    const closing = this.#closing.signal;
    let { origin } = this;
    return resumableBytes({
      size,
      connect: async (start, over) => {
        origin = this.origin;
        const request = this.#request('readArtifact', { params: { id } });
        const headers = { ...request.headers, accept: '*/*', ...(start === 0 ? {} : { range: `bytes=${start}-` }) };
        return this.#send({ ...request, headers }, over);
      },
      backoff: new RetryBackoff(this.#clock, streamPatienceMs),
      signal: signal === undefined ? closing : AbortSignal.any([signal, closing]),
      onAway,
      onBroken: () => this.#endpoints.failOver(origin),
      silentMs: SILENT_MS,
    });
  }

  async #callWithRetry(name: RouteName, ask: UntypedCall): Promise<unknown> {
    const { key = isRepeatable(name) ? crypto.randomUUID() : undefined } = ask;
    const closing = this.#closing.signal;
    const signal = ask.signal === undefined ? closing : AbortSignal.any([ask.signal, closing]);
    signal.throwIfAborted();
    const backoff = new RetryBackoff(this.#clock, ask.patienceMs ?? this.#options.patienceMs ?? PATIENCE_MS);
    for (let tries = 1; ; tries++) {
      const { origin } = this;
      const request = this.#request(name, ask, key);
      const harmless = request.method === 'GET' || key !== undefined;
      try {
        return await this.#semaphore.pass(() => this.#once(request, signal, ask.timeoutMs));
      } catch (error) {
        signal.throwIfAborted();
        if (!isTransient(error)) throw error;
        this.#endpoints.failOver(origin);
        if (!(harmless || wasNeverSent(error))) throw error;
        // No pause while there is another node to ask.
        if (tries % this.origins.length === 0 && !(await backoff.wait(signal))) throw error;
      }
    }
  }

  async #once(
    request: Request,
    signal: AbortSignal,
    timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS,
  ): Promise<unknown> {
    const late = AbortSignal.timeout(timeoutMs);
    const over = AbortSignal.any([signal, late]);
    try {
      return await readAnswer(await this.#send(request, over), request);
    } catch (error) {
      signal.throwIfAborted();
      throw late.aborted ? fault('TIMEOUT', { action: 'call', url: this.origin }, { cause: error }) : error;
    }
  }

  #send(request: Request, signal: AbortSignal): Promise<Fetched> {
    return send(request, { fetch: this.#options.fetch ?? globalThis.fetch, signal });
  }

  #request(name: RouteName, { params, query, body, by = this.#options.by }: UntypedCall, key?: string): Request {
    const { token } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(by === undefined || by === '' ? {} : { 'x-leasehold-by': encodeURIComponent(by) }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    };
    return requestOf(name, { origin: this.origin, headers, params, query, body });
  }
}

import { hostname } from 'node:os';
import type { z } from 'zod';
import { type EngineError, fault, isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import { AskedAnswers, frameOf, JoinedAnswer, WireError } from '../../protocol/answers.ts';
import type { NewRequest } from '../../protocol/frames.ts';
import type { Assignment, ClaimRequest, Hello, Link, Session, WorkerState } from '../../protocol/link.ts';
import type { BodyOf } from '../../protocol/routes.ts';
import { CredentialBeat } from './credential-beat.ts';
import type { CredentialOrders } from './credential-orders.ts';
import { HttpCaller } from './http-caller.ts';
import { NodeSession, type NodeSessionOptions, openSession } from './node-session.ts';
import { type PendingRequest, PendingRequests, requestText, tooLarge } from './pending-requests.ts';
import { answerMs, pauseMs, tryMs } from './reconnect.ts';
import { unreachable, wireError } from './wire-error.ts';

export interface HttpLinkOptions extends NodeSessionOptions {
  /** Other nodes of the same cluster: when one is away, the next is used. */
  readonly others?: readonly string[] | undefined;
  readonly secret: string;
}

/** The longest wait of one claim: proxies cut off requests that are silent for longer. */
const POLL_MS = 20_000;
const JOIN = '/workers/join';
const CANCEL_LOOK_MS = 1000;
/** Requests in one HTTP request. */
const MOST_ASKED = 250;
/** In UTF-16 units. */
const FULL_REQUEST = 1024 * 1024;

/** The link to a node over plain HTTP requests: for networks that let no WebSocket pass. */
export class HttpLink implements Link {
  readonly #options: HttpLinkOptions;

  constructor(options: HttpLinkOptions) {
    this.#options = options;
  }

  open(hello: Hello, signal?: AbortSignal): Promise<Session> {
    return openSession(new HttpSession(this.#options, hello), signal);
  }
}

/**
 * A session over HTTP. Requests leave in one HTTP request at a time, in their order: all that have come since the last one go
 * together. A claim waits in an HTTP request of its own. Unanswered requests are sent again. After a lease without an answer the
 * leases may be lost: pending requests are then rejected with `STORE_UNAVAILABLE`, and their callers may try again.
 */
class HttpSession extends NodeSession {
  readonly #options: HttpLinkOptions;
  readonly #hello: Hello;
  readonly #urls: readonly [string, ...string[]];
  readonly #caller: HttpCaller;
  readonly #pending = new PendingRequests();
  readonly #over = Promise.withResolvers<Error>();
  readonly #closing = new AbortController();
  #closed: Error | undefined;
  readonly #credentials: CredentialBeat | undefined;
  #signer: string | undefined;
  #can: readonly string[] = [];
  #worker = '';
  #token = '';
  #entering: Promise<void> | undefined;
  #numbers = 0;
  #claims = 0;
  #sending = false;
  #tries = 0;
  /** When the first request since the last answer failed. */
  #brokenSince: number | undefined;
  #cancelWatch: (() => void) | undefined;

  constructor(options: HttpLinkOptions, hello: Hello) {
    super(options, hello);
    this.#options = options;
    this.#hello = hello;
    this.#urls = [options.url, ...(options.others ?? [])];
    this.#caller = new HttpCaller(this.#urls);
    const { vault } = hello;
    if (vault == null) return;
    this.#credentials = new CredentialBeat({
      vault,
      signer: () => this.#signer,
      call: (body) => this.#call(this.#path('heartbeat'), body, answerMs(this.leaseMs)),
      soon: (then) => options.world.timers.soon(then),
    });
  }

  get credentials(): CredentialOrders | undefined {
    return this.#credentials?.orders;
  }

  override async beat(state: WorkerState): Promise<void> {
    await super.beat(state);
    await this.#credentials?.beat(state);
  }

  get over(): Promise<Error> {
    return this.#over.promise;
  }

  async open(): Promise<void> {
    await this.#enter();
    await this.replayLeftovers();
  }

  async #enter(): Promise<void> {
    const { anyHandler: _, token: _token, address: _address, release, ...fields } = this.#hello;
    const own = { host: hostname(), pid: process.pid, ...(release === undefined ? {} : { release: release() }) };
    const hello = { ...fields, ...own } as BodyOf<'joinWorker'>;
    const { worker, session, leaseMs, leftOut, signer, can = [] } = await this.#join(JSON.stringify(hello));
    this.#signer = signer;
    this.#can = can;
    this.leftOut.tell(leftOut);
    this.#worker = worker;
    this.#token = session;
    this.leaseMs = leaseMs;
  }

  /**
   * A node does not know the session any more when the secret of its cluster is another one, as after the upgrade that brought
   * the secret. The worker enters again by its own secret. It stays the same incarnation, and keeps its leases.
   */
  async #enterAgain(token: string): Promise<void> {
    // Another request has done it meanwhile.
    if (this.#token !== token) return;
    this.#entering ??= this.#enter().finally(() => {
      this.#entering = undefined;
    });
    await this.#entering;
  }

  async #join(body: string): Promise<z.infer<typeof JoinedAnswer>> {
    for (;;) {
      try {
        const joined = JoinedAnswer.parse(await this.#post(JOIN, body, tryMs(this.#outage, 0)));
        this.#tries = 0;
        return joined;
      } catch (error) {
        if (this.#closed !== undefined) throw this.#closed;
        // The node may not have noticed yet that an earlier start of this worker is gone.
        const again = !isEngineError(error) || error.retryable || error.code === 'CONFLICT';
        if (!again) throw error;
        this.#warnOnce(error);
        await this.#pause(this.#tries++);
      }
    }
  }

  async claim({ max, waitMs, signal }: ClaimRequest): Promise<readonly Assignment[]> {
    const { monotonic } = this.#options.world.clock;
    const until = monotonic() + waitMs;
    let failingSince: number | undefined;
    for (let tries = 0; !signal.aborted; ) {
      if (this.#closed !== undefined) throw this.#closed;
      const left = Math.max(0, until - monotonic());
      try {
        const found = await this.#claimOnce(max, Math.min(POLL_MS, Math.ceil(left)), signal);
        if (found.length > 0 || left <= POLL_MS) return found;
        tries = 0;
        failingSince = undefined;
      } catch (error) {
        if (isEngineError(error) && !error.retryable) throw this.#ended(error);
        failingSince ??= monotonic();
        if (monotonic() - failingSince >= this.leaseMs) throw unreachable(this.#urls, error);
        if (!signal.aborted) await this.#pause(tries++);
      }
    }
    return [];
  }

  /** Sends the leases that are held: the node gives back all others, whose grants never arrived. */
  async #claimOnce(max: number, waitMs: number, signal: AbortSignal): Promise<readonly Assignment[]> {
    const n = ++this.#claims;
    const poll = new AbortController();
    const giveUp = (): void => poll.abort();
    // The node ends the wait, so that its answer arrives with whatever was granted.
    const stop = (): void => {
      this.request({ type: 'claim_stop', claim: n }).then(() => this.#after(answerMs(this.leaseMs), giveUp), giveUp);
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      const body: BodyOf<'takeTasks'> = { max, waitMs, n, holding: [...this.holding.all()] };
      const patience = waitMs + answerMs(this.leaseMs);
      const found = await this.#call(this.#path('tasks'), JSON.stringify(body), patience, poll.signal);
      return this.granted(found, max);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  override onCancel(listener: (task: number) => void): () => void {
    this.#cancelWatch ??= this.#after(CANCEL_LOOK_MS, () => this.#lookForCancels());
    return super.onCancel(listener);
  }

  /** A node cannot call a worker over HTTP, so the session polls. */
  #lookForCancels(): void {
    this.#cancelWatch = this.#after(CANCEL_LOOK_MS, () => this.#lookForCancels());
    if (this.holding.all().length === 0 || this.#brokenSince !== undefined) return;
    this.cancels().then(
      (leases) => leases.forEach(({ task }) => this.notifyCancel(task)),
      () => {},
    );
  }

  protected get address(): string {
    return this.#caller.url;
  }

  protected canAsk(type: NewRequest['type']): boolean {
    return this.#can.includes(type);
  }

  protected get connected(): boolean {
    return this.#brokenSince === undefined;
  }

  protected async disconnect(): Promise<void> {
    this.#end(fault('STORE_CLOSED'));
  }

  #end(error: Error): void {
    this.#closed ??= error;
    this.#cancelWatch?.();
    this.#closing.abort(error);
    this.#caller.close();
    this.#pending.refuseAll(error);
  }

  /** A refusal by the node. One of the credentials ends the session. */
  #ended(error: EngineError): EngineError {
    if (error.code !== 'UNAUTHENTICATED' && error.code !== 'FORBIDDEN') return error;
    this.#options.log?.warn('the node refuses this worker', { error: error.message });
    this.#end(error);
    this.#over.resolve(error);
    return error;
  }

  protected send(request: NewRequest): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const n = ++this.#numbers;
    const text = requestText(n, request);
    if (text === undefined) return Promise.reject(tooLarge(request));
    const answer = this.#pending.add(n, text);
    if (!this.#sending) {
      this.#sending = true;
      this.#options.world.timers.soon(() => void this.#send());
    }
    return answer;
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const batch = this.#batch();
      const texts = batch.map(([, { text }]) => text);
      try {
        const answer = await this.#call(this.#path('ask'), `{"asked":[${texts.join()}]}`, answerMs(this.leaseMs));
        const answers = AskedAnswers.parse(answer).answers.map(frameOf);
        // Unanswered requests are sent again: a node that answers none of them must not be asked without a pause.
        if (!answers.map((one) => this.#receive(one)).includes(true))
          throw new Error('the node answered nothing that was asked');
        this.#tries = 0;
        this.#brokenSince = undefined;
      } catch (error) {
        if (!isEngineError(error) || error.retryable) await this.#missed(error);
        else {
          const ended = this.#ended(error);
          for (const [n] of batch) this.#pending.refuse(n, ended);
        }
      }
    }
    this.#sending = false;
  }

  #batch(): readonly (readonly [number, PendingRequest])[] {
    const batch: (readonly [number, PendingRequest])[] = [];
    let units = 0;
    for (const one of this.#pending.entries()) {
      units += one[1].text.length;
      if (batch.length > 0 && (batch.length >= MOST_ASKED || units > FULL_REQUEST)) break;
      batch.push(one);
    }
    return batch;
  }

  #receive(message: ReturnType<typeof frameOf>): boolean {
    return (message?.type === 'ok' || message?.type === 'refused') && this.#pending.answer(message);
  }

  async #missed(error: unknown): Promise<void> {
    if (this.#closed !== undefined) return;
    this.#brokenSince ??= this.#options.world.clock.monotonic();
    this.#warnOnce(error);
    if (this.#outage.away) this.#pending.refuseAll(unreachable(this.#urls, error));
    await this.#pause(this.#tries++);
  }

  get #outage(): { readonly leaseMs: number; readonly away: boolean } {
    const { leaseMs } = this;
    const since = this.#brokenSince;
    return { leaseMs, away: since !== undefined && this.#options.world.clock.monotonic() - since >= leaseMs };
  }

  #warnOnce(error: unknown): void {
    if (this.#tries !== 1) return;
    this.#options.log?.warn('the node cannot be reached; trying again', { error: (error as Error).message });
  }

  #path(call: 'tasks' | 'ask' | 'heartbeat'): string {
    return `/workers/${encodeURIComponent(this.#worker)}/${call}`;
  }

  async #call(path: string, body: string, withinMs: number, signal?: AbortSignal): Promise<unknown> {
    const token = this.#token;
    try {
      return await this.#post(path, body, withinMs, signal);
    } catch (error) {
      if (!isEngineError(error, 'UNAUTHENTICATED')) throw error;
      await this.#enterAgain(token);
      return this.#post(path, body, withinMs, signal);
    }
  }

  /** Throws an EngineError where the node has refused, and any other error where it did not answer. */
  async #post(path: string, body: string, withinMs: number, signal?: AbortSignal): Promise<unknown> {
    const late = new AbortController();
    const cancel = this.#after(withinMs, () => late.abort(new Error(`no answer within ${Math.ceil(withinMs)} ms`)));
    const { secret } = this.#options;
    const who: Readonly<Record<string, string>> =
      path === JOIN ? { authorization: `Bearer ${secret}` } : { 'x-session-token': this.#token };
    const signals = [late.signal, this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    const { pool: way } = this.#caller;
    try {
      const { status, text } = await this.#caller.post(path, body, who, AbortSignal.any(signals));
      if (status === 204) return undefined;
      const answer: unknown = JSON.parse(text);
      if (status >= 200 && status < 300) return answer;
      throw refusalOf(answer, status);
    } catch (error) {
      // The pool is given up as a whole: a claim may wait on a broken connection for long.
      const given = this.#closing.signal.aborted || signal?.aborted === true;
      if (!given && (!isEngineError(error) || error.retryable)) this.#caller.abandon(way);
      throw error;
    } finally {
      cancel();
    }
  }

  #pause(tries: number): Promise<void> {
    const { timers, random } = this.#options.world;
    return pause(timers, pauseMs(this.#outage, tries, random), { signal: this.#closing.signal });
  }

  #after(ms: number, then: () => void): () => void {
    return this.#options.world.timers.after(ms, then, { unref: true });
  }
}

/** A proxy may answer in place of the node: that is no refusal. */
function refusalOf(answer: unknown, status: number): Error {
  const error = WireError.safeParse((answer as { readonly error?: unknown } | null)?.error);
  return error.success ? wireError(error.data) : new Error(`HTTP ${status}`);
}

import { WebSocket } from 'ws';
import { type EngineError, fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import {
  ALIVE,
  type Connect,
  type ConnectOk,
  framesOf,
  MAX_ANSWER_BYTES,
  type NewRequest,
  type NodeMessage,
  WORKER_PATH,
} from '../../protocol/frames.ts';
import type { WorkerLog } from '../logs/worker-log.ts';
import { type KeepAlive, keepAlive } from './keep-alive.ts';
import { PendingRequests, requestText, tooLarge } from './pending-requests.ts';
import { pauseMs, tryMs } from './reconnect.ts';
import { unreachable, wireError } from './wire-error.ts';

export interface WireOptions {
  /** Of the node, or of several in turn: `http://host:7420`, or with `https`, `ws` or `wss`. */
  readonly urls: readonly [string, ...string[]];
  readonly world: World;
  readonly log?: WorkerLog | undefined;
  /** What to say first, on every connection anew. */
  readonly connect: () => Omit<Connect, 'type'>;
  readonly onKill: (task: number) => void;
  /** Whether leases are held: a connection that breaks is then noticed sooner. */
  readonly holds: () => boolean;
}

/** Who asks while nobody has been there for a lease hears so within this time. */
const AWAY_MS = 5000;

/**
 * One connection to a hub that comes back when it breaks. What was asked and not answered is asked again on the next one: all of it
 * can be repeated. After a lease without one nothing that is held can be counted on: who waits for an answer hears that nobody is
 * there, and may ask anew.
 */
export class Wire {
  readonly #options: WireOptions;
  readonly #pending = new PendingRequests();
  #socket: WebSocket | undefined;
  /** Greeted, and not broken. */
  #open = false;
  #numbers = 0;
  #tries = 0;
  /** Which of the addresses it goes by: the next one, whenever a connection did not come about or has ended. */
  #at = 0;
  #unsent: string[] = [];
  #closed: Error | undefined;
  #leaseMs = 0;
  #terms: Omit<ConnectOk, 'type' | 'leaseMs'> = {};
  #cancelRetry = (): void => {};
  #cancelAway = (): void => {};
  /** For longer than a lease. */
  #away = false;
  #keeping: KeepAlive | undefined;
  /** Counts the connections on which it was greeted. */
  connections = 0;
  /** How long it took the last time to be let in. */
  #tookMs = 0;
  #dialledAt = 0;
  readonly #first = Promise.withResolvers<number>();
  readonly #over = Promise.withResolvers<Error>();

  constructor(options: WireOptions) {
    this.#options = options;
    // Who asks nothing hears of a failure when it does.
    this.#first.promise.catch(() => {});
  }

  /** Comes when the node lets us in no more. */
  get over(): Promise<Error> {
    return this.#over.promise;
  }

  /** What the node asked for when it was greeted last. */
  get terms(): Omit<ConnectOk, 'type' | 'leaseMs'> {
    return this.#terms;
  }

  /** Greeted, and not known to be broken. */
  get connected(): boolean {
    return this.#open;
  }

  /** Connects; resolves to what the hub says of leases, rejects with why it does not let us in. */
  open(): Promise<number> {
    this.#dial();
    return this.#first.promise;
  }

  /** It is time to hear from the node: what is said next should be asked. */
  get wantsAnswer(): boolean {
    return this.#keeping?.wantsAnswer ?? true;
  }

  /** Says that we live; without a connection nobody needs to know. */
  sendAlive(): void {
    if (this.#open) this.#socket?.send(ALIVE);
  }

  request(request: NewRequest): Promise<unknown> {
    return this.numberedRequest(request).answer;
  }

  /** The same with its number, under which it can be spoken of. */
  numberedRequest(request: NewRequest): { readonly n: number; readonly answer: Promise<unknown> } {
    const n = ++this.#numbers;
    if (this.#closed !== undefined) return { n, answer: Promise.reject(this.#closed) };
    const text = requestText(n, request);
    // Sent, it would end the connection, and come again with the next one.
    if (text === undefined) return { n, answer: Promise.reject(tooLarge(request)) };
    const answer = this.#pending.add(n, text);
    if (this.#open && this.#unsent.push(text) === 1) this.#options.world.timers.soon(() => this.#flush());
    return { n, answer };
  }

  async close(): Promise<void> {
    this.#end(fault('STORE_CLOSED'));
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === socket.CLOSED) return;
    const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.close(1000);
    const late = setTimeout(() => socket.terminate(), 1000);
    await gone;
    clearTimeout(late);
  }

  #end(error: Error): void {
    this.#closed ??= error;
    this.#open = false;
    this.#cancelRetry();
    this.#cancelAway();
    this.#first.reject(error);
    this.#pending.refuseAll(error);
  }

  get #url(): string {
    const { urls } = this.#options;
    return urls[this.#at % urls.length] as string;
  }

  #dial(): void {
    const socket = new WebSocket(addressOf(this.#url), {
      perMessageDeflate: false,
      maxPayload: MAX_ANSWER_BYTES,
      handshakeTimeout: tryMs(this.#outage, this.#tookMs),
    });
    this.#socket = socket;
    this.#dialledAt = this.#options.world.clock.monotonic();
    let trouble: Error | undefined;
    socket.on('error', (error) => {
      trouble = error;
    });
    socket.once('open', () => {
      socket.send(JSON.stringify({ type: 'connect', ...this.#options.connect() }));
      this.#keepAlive(this.#leaseMs);
    });
    socket.on('message', (data: Buffer) => {
      try {
        const messages = JSON.parse(data.toString()) as NodeMessage | readonly NodeMessage[];
        for (const one of Array.isArray(messages) ? messages : [messages]) this.#receive(one as NodeMessage);
      } catch (error) {
        // Whoever that is, it is no node of ours.
        trouble = error as Error;
        socket.terminate();
      }
    });
    socket.once('close', (code) => {
      this.#keeping?.stop();
      if (this.#open) this.#disconnected();
      if (this.#closed === undefined) this.#reconnect(code, trouble);
    });
  }

  #keepAlive(leaseMs: number): void {
    this.#keeping?.stop();
    this.#keeping = keepAlive(this.#socket as WebSocket, { leaseMs, holds: this.#options.holds });
  }

  #disconnected(): void {
    this.#open = false;
    this.#refuseAfter(this.#leaseMs);
  }

  #refuseAfter(ms: number): void {
    const refuse = (): void => {
      this.#away = true;
      this.#pending.refuseAll(unreachable(this.#options.urls));
      this.#refuseAfter(Math.min(AWAY_MS, this.#leaseMs));
    };
    this.#cancelAway = this.#options.world.timers.after(ms, refuse, { unref: true });
  }

  get #outage(): { readonly leaseMs: number; readonly away: boolean } {
    return { leaseMs: this.#leaseMs, away: this.#away };
  }

  #receive(message: NodeMessage): void {
    switch (message.type) {
      case 'connect_ok':
        this.#terms = message;
        this.#accepted(message.leaseMs);
        return;
      case 'connect_rejected':
        this.#rejected(wireError(message.error));
        return;
      case 'kill_task':
        this.#options.onKill(message.task);
        return;
      case 'config_update':
        // The engine goes by it: who is disabled is granted nothing, and ends what it has.
        return;
      case 'ok':
      case 'refused':
        this.#pending.answer(message);
    }
  }

  #accepted(leaseMs: number): void {
    this.#cancelAway();
    this.#away = false;
    this.#tries = 0;
    this.connections++;
    this.#open = true;
    this.#leaseMs = leaseMs;
    this.#tookMs = this.#options.world.clock.monotonic() - this.#dialledAt;
    this.#keepAlive(leaseMs);
    this.#unsent = this.#pending.texts();
    this.#first.resolve(leaseMs);
    this.#flush();
  }

  /** What time can mend is tried again; a secret that is wrong stays wrong. */
  #rejected(error: EngineError): void {
    const again = error.retryable || error.code === 'CONFLICT';
    this.#options.log?.warn('the node does not let this worker in', { error: error.message });
    if (again) return;
    this.#end(error);
    this.#over.resolve(error);
  }

  #reconnect(code: number, trouble: Error | undefined): void {
    const { world, log, urls } = this.#options;
    this.#at++;
    // It waits longer for one that it knows to be away, not for the next one.
    const round = Math.floor(this.#tries++ / urls.length);
    // While there are leases to save it tries more often.
    const pause = pauseMs(this.#outage, round, world.random);
    if (this.#tries === 2) log?.warn('the node cannot be reached; trying on', { code, error: trouble?.message });
    this.#cancelRetry = world.timers.after(pause, () => this.#dial());
  }

  #flush(): void {
    const socket = this.#socket;
    if (!this.#open || socket === undefined) return;
    const texts = this.#unsent;
    this.#unsent = [];
    for (const frame of framesOf(texts)) socket.send(frame);
  }
}

function addressOf(url: string): string {
  return url.replace(/^http/, 'ws').replace(/\/+$/, '') + WORKER_PATH;
}

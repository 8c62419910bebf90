import { WebSocket } from 'ws';
import { type EngineError, fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import { framesIn, type NodeFrame } from '../../protocol/answers.ts';
import type { CredentialOrder } from '../../protocol/credential-envelope.ts';
import {
  ALIVE,
  type Connect,
  type ConnectOk,
  framesOf,
  MAX_ANSWER_BYTES,
  type NewRequest,
  type UpgradeOrder,
  WORKER_PATH,
} from '../../protocol/frames.ts';
import type { WorkerLog } from '../logs/worker-log.ts';
import { type KeepAlive, keepAlive } from './keep-alive.ts';
import { PendingRequests, requestText, tooLarge } from './pending-requests.ts';
import { pauseMs, tryMs } from './reconnect.ts';
import { unreachable, wireError } from './wire-error.ts';

export interface WireOptions {
  /** The addresses of one or more nodes, tried in turn: `http://host:7420`, or with `https`, `ws` or `wss`. */
  readonly urls: readonly [string, ...string[]];
  readonly world: World;
  readonly log?: WorkerLog | undefined;
  /** Shown with the upgrade: without it a node reads 4 KiB of the first message. */
  readonly secret: string;
  /** The first message on every new connection. */
  readonly connect: () => Omit<Connect, 'type'>;
  readonly onLeftOut: (handlers: readonly string[]) => void;
  readonly onKill: (task: number) => void;
  readonly onPaused: (queue: string) => void;
  readonly onCredential: (order: CredentialOrder) => void;
  readonly onUpgrade: (order: UpgradeOrder) => void;
  /** Whether leases are held: then a broken connection is noticed sooner. */
  readonly holds: () => boolean;
}

/** After an outage of a lease, requests are rejected within this time. */
const AWAY_MS = 5000;

/**
 * One connection to a node that reconnects when it breaks. Unanswered requests are sent again on the next connection: all of them
 * can be repeated. After a lease without a connection the leases may be lost: pending requests are then rejected with
 * `STORE_UNAVAILABLE`, and their callers may try again.
 */
export class Wire {
  readonly #options: WireOptions;
  readonly #pending = new PendingRequests();
  #socket: WebSocket | undefined;
  /** The node has accepted the connection, and it is not known to be broken. */
  #open = false;
  #numbers = 0;
  #tries = 0;
  /** Connections in a row that ended because of what the other side said. */
  #senseless = 0;
  /** The address in use; the next one after every connection that failed or ended. */
  #at = 0;
  #unsent: string[] = [];
  #closed: Error | undefined;
  #leaseMs = 0;
  #terms: Omit<ConnectOk, 'type' | 'leaseMs'> = {};
  #cancelRetry = (): void => {};
  #cancelAway = (): void => {};
  /** The outage is longer than a lease. */
  #away = false;
  #keeping: KeepAlive | undefined;
  /** The number of connections that the node has accepted. */
  connections = 0;
  /** How long the last connection took to be accepted. */
  #tookMs = 0;
  #dialledAt = 0;
  readonly #first = Promise.withResolvers<number>();
  readonly #over = Promise.withResolvers<Error>();

  constructor(options: WireOptions) {
    this.#options = options;
    // A failure is reported by the first request, if nobody waits for this promise.
    this.#first.promise.catch(() => {});
  }

  /** Resolves when the node refuses this worker for good. */
  get over(): Promise<Error> {
    return this.#over.promise;
  }

  /** The terms of the last accepted connection. */
  get terms(): Omit<ConnectOk, 'type' | 'leaseMs'> {
    return this.#terms;
  }

  /** Accepted, and not known to be broken. */
  get connected(): boolean {
    return this.#open;
  }

  /** Connects. Resolves to the lease time, and rejects when the node refuses this worker. */
  open(): Promise<number> {
    this.#dial();
    return this.#first.promise;
  }

  /** The node was silent for a while: the next message should want an answer. */
  get wantsAnswer(): boolean {
    return this.#keeping?.wantsAnswer ?? true;
  }

  /** Sends a sign of life that wants no answer; does nothing without a connection. */
  sendAlive(): void {
    if (this.#open) this.#socket?.send(ALIVE);
  }

  request(request: NewRequest): Promise<unknown> {
    return this.numberedRequest(request).answer;
  }

  /** A request with its number, by which a later request can refer to it. */
  numberedRequest(request: NewRequest): { readonly n: number; readonly answer: Promise<unknown> } {
    const n = ++this.#numbers;
    if (this.#closed !== undefined) return { n, answer: Promise.reject(this.#closed) };
    const text = requestText(n, request);
    // Sent, it would end the connection, and be sent again on the next one.
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

  /** The address in use. */
  get url(): string {
    const { urls } = this.#options;
    return urls[this.#at % urls.length] as string;
  }

  #dial(): void {
    const socket = new WebSocket(addressOf(this.url), {
      perMessageDeflate: false,
      maxPayload: MAX_ANSWER_BYTES,
      handshakeTimeout: tryMs(this.#outage, this.#tookMs),
      headers: proofOf(this.#options.secret),
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
        for (const one of framesIn(data.toString())) this.#receive(one);
      } catch (error) {
        // The other side is no node.
        trouble = error as Error;
        this.#senseless++;
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

  /** Settings of the worker (`config_update`) are no concern of it: the engine applies them. */
  #receive(message: NodeFrame): void {
    switch (message.type) {
      case 'connect_ok':
        // Said again, it would have every request sent again.
        if (this.#open) return;
        this.#terms = termsIn(message);
        this.#options.onLeftOut(message.leftOut ?? []);
        this.#accepted(message.leaseMs);
        return;
      case 'connect_rejected':
        this.#rejected(wireError(message.error));
        return;
      case 'kill_task':
        this.#options.onKill(message.task);
        return;
      case 'queue_paused':
        this.#options.onPaused(message.queue);
        return;
      case 'credential_push':
        this.#options.onCredential({ name: message.name, version: message.version, envelope: message.envelope });
        return;
      case 'credential_remove':
        this.#options.onCredential({ name: message.name, version: message.version, removed: true });
        return;
      case 'upgrade_required':
        this.#options.onUpgrade(message);
        return;
      case 'ok':
      case 'refused':
        if (this.#pending.answer(message)) this.#senseless = 0;
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

  /** A refusal that time can mend is tried again; a wrong secret stays wrong. */
  #rejected(error: EngineError): void {
    const again = error.retryable || error.code === 'CONFLICT';
    this.#options.log?.warn('the node refuses this worker', { error: error.message });
    if (again) return;
    this.#end(error);
    this.#over.resolve(error);
  }

  #reconnect(code: number, trouble: Error | undefined): void {
    const { world, log, urls } = this.#options;
    this.#at++;
    // The pause grows with each round over all addresses, not with each address.
    // Nor does it begin anew where the other side accepts this worker and then says nothing that makes sense.
    const round = Math.max(Math.floor(this.#tries++ / urls.length), this.#senseless);
    // Shorter while leases are held.
    const pause = pauseMs(this.#outage, round, world.random);
    if (this.#tries === 2) log?.warn('the node cannot be reached; trying again', { code, error: trouble?.message });
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

function termsIn({ heartbeatMs, runTimeoutMs, can, signer }: NodeFrame & { type: 'connect_ok' }): Wire['terms'] {
  return { heartbeatMs, runTimeoutMs, can, signer };
}

/** A text that no header can carry is no secret; the node says so when it reads the first message. */
function proofOf(secret: string): Record<string, string> {
  return /^[\x21-\x7e]{1,512}$/.test(secret) ? { authorization: `Bearer ${secret}` } : {};
}

function addressOf(url: string): string {
  return url.replace(/^http/, 'ws').replace(/\/+$/, '') + WORKER_PATH;
}

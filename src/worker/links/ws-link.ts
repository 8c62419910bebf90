import { hostname } from 'node:os';
import type { NewRequest } from '../../protocol/frames.ts';
import type { Assignment, ClaimRequest, Completion, Hello, Link, Session, WorkerState } from '../../protocol/link.ts';
import { CredentialOrders } from './credential-orders.ts';
import { NodeSession, type NodeSessionOptions, openSession } from './node-session.ts';
import { Wire } from './wire.ts';

export interface WsLinkOptions extends NodeSessionOptions {
  /** Other nodes of the same cluster: when one is away, the next is used. */
  readonly others?: readonly string[] | undefined;
  readonly secret: string;
}

/** The link to a node over a WebSocket. */
export class WsLink implements Link {
  readonly #options: WsLinkOptions;

  constructor(options: WsLinkOptions) {
    this.#options = options;
  }

  open(hello: Hello, signal?: AbortSignal): Promise<Session> {
    return openSession(new WsSession(this.#options, hello), signal);
  }
}

class WsSession extends NodeSession {
  readonly #wire: Wire;
  readonly credentials: CredentialOrders | undefined;
  readonly #pauseListeners = new Set<(queue: string) => void>();
  /** The state of the last answered beat, and the connection that it was sent on. */
  #lastBeat: { readonly state: WorkerState; readonly connections: number } | undefined;

  constructor(options: WsLinkOptions, hello: Hello) {
    super(options, hello);
    const { url, others = [], secret, world, log } = options;
    const {
      name,
      incarnation,
      slots,
      tags,
      handlers,
      schemas = [],
      queues,
      priority,
      version,
      ticket,
      vault,
      release,
    } = hello;
    this.#wire = new Wire({
      urls: [url, ...others],
      world,
      log,
      secret,
      connect: () => ({
        name,
        secret,
        incarnation,
        slots,
        tags: [...tags],
        handlers: [...handlers],
        ...(schemas.length === 0 ? {} : { schemas: [...schemas] }),
        ...(queues === undefined ? {} : { queues: [...queues] }),
        ...(priority === undefined ? {} : { priority }),
        ...(version === undefined ? {} : { version }),
        ...(ticket === undefined ? {} : { ticket }),
        host: hostname(),
        pid: process.pid,
        ...(vault == null ? {} : { vault: { key: vault.key, level: vault.level, holds: [...vault.holds] } }),
        ...(release === undefined ? {} : { release: release() }),
        holding: [...this.holding.all()],
      }),
      onLeftOut: (missing) => this.leftOut.tell(missing),
      onKill: (task) => this.notifyCancel(task),
      onPaused: (queue) => {
        for (const listener of this.#pauseListeners) listener(queue);
      },
      onCredential: (order) => this.credentials?.tell(order),
      onUpgrade: (order) => this.notifyUpgrade(order),
      holds: () => this.holding.size > 0,
    });
    if (vault == null) return;
    const signer = (): string | undefined => this.#wire.terms.signer;
    this.credentials = new CredentialOrders(signer, (ack) => this.request({ type: 'credential_ack', ...ack }));
  }

  get heartbeatMs(): number | undefined {
    return this.#wire.terms.heartbeatMs;
  }

  get runTimeoutMs(): number | undefined {
    return this.#wire.terms.runTimeoutMs;
  }

  get over(): Promise<Error> {
    return this.#wire.over;
  }

  /** None at a node of a version that cannot be asked for it. */
  get completeMany(): Session['completeMany'] {
    return this.canAsk('tasks_complete') ? this.#completeMany : undefined;
  }

  readonly #completeMany = (ends: readonly Completion[]) => this.completeTogether(ends);

  async open(): Promise<void> {
    this.leaseMs = await this.#wire.open();
    await this.replayLeftovers();
  }

  async claim({ max, waitMs, signal }: ClaimRequest): Promise<readonly Assignment[]> {
    if (signal.aborted) return [];
    const { n, answer } = this.#wire.numberedRequest({ type: 'task_claim', max, waitMs });
    const stop = (): void => void this.#wire.request({ type: 'claim_stop', claim: n }).catch(() => {});
    signal.addEventListener('abort', stop, { once: true });
    try {
      return this.granted(await answer, max);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  onPause(listener: (queue: string) => void): () => void {
    this.#pauseListeners.add(listener);
    return () => this.#pauseListeners.delete(listener);
  }

  /** A beat with the same state is a mere sign of life, without an answer, unless the node was silent for a while. */
  override async beat(state: WorkerState): Promise<void> {
    const { connections, wantsAnswer } = this.#wire;
    const isKnown = this.#lastBeat?.state === state && this.#lastBeat.connections === connections;
    if (isKnown && !wantsAnswer) {
      this.#wire.sendAlive();
      return;
    }
    await super.beat(state);
    this.#lastBeat = { state, connections };
  }

  protected get address(): string {
    return this.#wire.url;
  }

  protected canAsk(type: NewRequest['type']): boolean {
    return this.#wire.terms.can?.includes(type) === true;
  }

  protected get connected(): boolean {
    return this.#wire.connected;
  }

  protected disconnect(): Promise<void> {
    return this.#wire.close();
  }

  protected send(request: NewRequest): Promise<unknown> {
    return this.#wire.request(request);
  }
}

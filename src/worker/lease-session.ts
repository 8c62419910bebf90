import { CATALOGUE, fault, isEngineError } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import type {
  Assignment,
  JournalValue,
  Reusable,
  Session,
  TaskRef,
  TaskResult,
  Turned,
  TurnRequest,
  TurnThen,
  Waited,
} from '../protocol/link.ts';
import { retryPause } from './retry-pause.ts';
import type { AttemptSession } from './runner/runner.ts';

/** What a lease session asks of its attempt. */
export interface LeaseSessionHooks {
  /** False: the attempt is over, and its calls are refused. */
  readonly isLive: () => boolean;
  /** False after the run timeout: the handler may still run, but must not park the task. */
  readonly mayPark: () => boolean;
  /** Stores the log while the lease is still there. */
  readonly flush: () => Promise<void>;
  readonly onYielded: (how: 'parked' | 'cancelled') => void;
  readonly onLost: () => void;
}

/** The durable calls of one run, made over the worker's session under the lease of the attempt. */
export class LeaseSession implements AttemptSession {
  readonly #session: Session;
  readonly #world: World;
  readonly #lease: Assignment;
  readonly #hooks: LeaseSessionHooks;
  #waits = 0;
  #parking = false;
  #dropped = false;
  readonly #gone = Promise.withResolvers<never>();

  constructor(session: Session, world: World, lease: Assignment, hooks: LeaseSessionHooks) {
    this.#session = session;
    this.#world = world;
    this.#lease = lease;
    this.#hooks = hooks;
    this.#gone.promise.catch(() => {});
  }

  /** The lease may be lost: calls that wait for an answer are rejected, so that the handler can end. */
  drop(): void {
    this.#dropped = true;
    this.#gone.reject(this.#lost());
  }

  /** A request to park is under way; its answer says whether the lease is still there. */
  get parking(): boolean {
    return this.#parking;
  }

  journal(): Promise<readonly JournalValue[]> {
    return this.#patiently(() => this.#session.journal(this.#lease));
  }

  async turn(turn: TurnRequest): Promise<Turned> {
    const turned = turn.then.go === 'park' ? await this.#park(turn) : await this.#commit(turn);
    const { went } = turned;
    if (went === 'parked' || went === 'cancelled') this.#hooks.onYielded(went);
    return turned;
  }

  async #park({ entries, then }: TurnRequest): Promise<Turned> {
    if (!this.#hooks.mayPark()) throw fault('CONFLICT', { problem: 'the attempt was told to stop' });
    await this.#hooks.flush();
    const nth = ++this.#waits;
    this.#parking = true;
    return this.#commit({ entries, then: { ...then, nth } as TurnThen }).finally(() => {
      this.#parking = false;
    });
  }

  #commit(turn: TurnRequest): Promise<Turned> {
    return this.#patiently(() => this.#session.turn(this.#lease, turn));
  }

  waited(): Promise<Waited | undefined> {
    return this.#patiently(() => this.#session.waited(this.#lease));
  }

  results(tasks: readonly TaskRef[]): Promise<readonly TaskResult[]> {
    return this.#patiently(() => this.#session.results(this.#lease, tasks));
  }

  dependencies(): Promise<readonly (TaskResult & { readonly optional: boolean })[]> {
    return this.#patiently(() => this.#session.dependencies(this.#lease));
  }

  /** Called by the worker itself, before it runs anything. */
  reusable(): Promise<Reusable | undefined> {
    return this.#patiently(() => this.#session.reusable(this.#lease));
  }

  /** Each call can be repeated, so that a store which is away does not cost an attempt what it has done. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      if (!this.#hooks.isLive()) throw this.#lost();
      try {
        return await Promise.race([call(), this.#gone.promise]);
      } catch (error) {
        if (this.#dropped) throw error;
        if (isEngineError(error, 'LEASE_LOST')) this.#hooks.onLost();
        if (!isEngineError(error) || !error.retryable || CATALOGUE[error.code].family !== 'environment') throw error;
      }
      await Promise.race([retryPause(this.#world, tries), this.#gone.promise]);
    }
  }

  #lost(): Error {
    const { id, attempt } = this.#lease;
    return fault('LEASE_LOST', { task: id, attempt });
  }
}

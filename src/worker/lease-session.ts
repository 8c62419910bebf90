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
import { hiddenTurn } from './redaction/hidden-turn.ts';
import type { Redactor } from './redaction/redactor.ts';
import { retryPause } from './retry-pause.ts';
import type { AttemptSession } from './runner/runner.ts';

/** What a turn made of the attempt, when it left it no lease. */
export type Yielded = 'parked' | 'cancelled' | 'completed' | 'failed' | 'retried';

/** What a lease session asks of its attempt. */
export interface LeaseSessionHooks {
  /** False: the attempt is over, and its calls are refused. */
  readonly isLive: () => boolean;
  /** False after the run timeout: the handler may still run, but must not park the task. */
  readonly mayPark: () => boolean;
  /** Stores the log while the lease is still there. */
  readonly flush: () => Promise<void>;
  /** Hides what the run must not tell; undefined: there is nothing. */
  readonly hides?: Pick<Redactor, 'hideIn'> | undefined;
  readonly onYielded: (how: Yielded) => void;
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

  async turn(given: TurnRequest): Promise<Turned> {
    const { hides } = this.#hooks;
    const turn = hides === undefined ? given : hiddenTurn(given, (value) => hides.hideIn(value));
    const { go } = turn.then;
    // Lines of the attempt are stored while it still has its lease.
    if (go === 'complete' || go === 'fail') await this.#hooks.flush();
    // A draw that is refused parks.
    const turned = go === 'park' || turn.draw !== undefined ? await this.#park(turn) : await this.#commit(turn);
    const how = yieldedBy(turned);
    if (how !== undefined) this.#hooks.onYielded(how);
    return turned;
  }

  async #park(turn: TurnRequest): Promise<Turned> {
    const waits = turn.then.go === 'park';
    if (waits && !this.#hooks.mayPark()) throw fault('CONFLICT', { problem: 'the attempt was told to stop' });
    await this.#hooks.flush();
    const then = waits ? ({ ...turn.then, nth: ++this.#waits } as TurnThen) : turn.then;
    this.#parking = true;
    return this.#commit({ ...turn, then }).finally(() => {
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

  cancelChildren(tasks: readonly TaskRef[]): Promise<void> {
    return this.#patiently(() => this.#session.cancelChildren(this.#lease, tasks));
  }

  definition(hash: string): Promise<string | undefined> {
    return this.#patiently(() => this.#session.definition(this.#lease, hash));
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

function yieldedBy({ went, state }: Turned): Yielded | undefined {
  if (went === 'parked' || went === 'cancelled') return went;
  if (went === 'back') return 'retried';
  if (went !== 'ended') return undefined;
  return state === 'failed' || state === 'cancelled' ? state : 'completed';
}

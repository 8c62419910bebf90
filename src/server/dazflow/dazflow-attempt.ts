import { fault, isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { LogEntry } from '../../core/task/log.ts';
import type { World } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import type { DazflowLine, DazflowNotice, DazflowPlace, DazflowTask } from '../../protocol/dazflow.ts';
import type { Assignment, RenewalAnswer, Session } from '../../protocol/link.ts';
import { stackOf } from '../http/refusals.ts';
import { entriesOf } from './dazflow-log.ts';
import { dazflowTask, offerOf } from './dazflow-task.ts';

export interface DazflowAttemptParts {
  readonly session: Session;
  readonly world: World;
  readonly log: Log;
  readonly send: (notice: DazflowNotice) => void;
  /** Whether the agent is heard. Its lease is renewed only while it is. */
  readonly isHeard: () => boolean;
  /** It came with its secret in the address, and expects offers in another form. */
  readonly byPath: boolean;
  /** What the agent is called. */
  readonly name: string;
  /** Where a task stands; without it an offer says less. */
  readonly placeOf?: ((one: Assignment) => Promise<DazflowPlace | undefined>) | undefined;
}

/** An offer without a claim is repeated after this time; after so many offers the task goes to others. */
const OFFER_MS = 5000;
const MAX_OFFERS = 3;
/** How long an agent may take to confirm that it has stopped. */
const KILL_MS = 5000;
const CANCEL_POLL_MS = 1000;
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

/** Why an agent may not act on a task; undefined: it may. */
export type Refusal = string | undefined;

export const NOT_YOURS = 'it is not held by this agent: it was not offered to it, or its lease is lost';
const LOST = 'its lease is lost: another worker may run it, and nothing about this run counts';
const CANCELLED = 'somebody has asked to stop it';

/**
 * One lease of an agent that knows nothing of leases, from its offer to its end. It does what the agent does not do:
 *
 *   offered ──claimed──> running ──> ending ──> over
 *      └──nobody claims it──> given back          the lease is renewed and cancels are polled until it is over
 *
 * When the connection is gone, a task that was only offered is released with its try. A task that ran is left to its lease.
 */
export class DazflowAttempt {
  #task: DazflowTask;
  readonly #parts: DazflowAttemptParts;
  readonly #assignment: Assignment;
  readonly #timeoutMs: number | undefined;
  readonly #claimed = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();
  readonly #timers = new Set<() => void>();
  #state: 'offered' | 'claiming' | 'running' | 'ending' | 'over' = 'offered';
  #killed: 'cancelled' | 'timeout' | undefined;
  #disconnected = false;
  #lines = 0;
  #isTruncated = false;

  constructor(parts: DazflowAttemptParts, one: Assignment, place?: DazflowPlace) {
    this.#parts = parts;
    this.#assignment = one;
    this.#timeoutMs = one.timeoutMs ?? parts.session.runTimeoutMs;
    this.#task = dazflowTask(one, this.#timeoutMs, place);
  }

  get task(): DazflowTask {
    return this.#task;
  }

  /** Offers the task and keeps its lease. Resolves when the lease is no longer held; false: the agent did not claim it. */
  async run(): Promise<boolean> {
    const { session, send, byPath } = this.#parts;
    const unlisten = session.onCancel((task) => {
      if (task === this.#assignment.task) void this.#kill('cancelled');
    });
    this.#renewAfter(session.leaseMs / 3);
    this.#pollCancels();
    for (let i = 0; i < MAX_OFFERS && this.#state === 'offered'; i++) {
      send(offerOf(this.task, byPath));
      await Promise.race([this.#pause(OFFER_MS), this.#claimed.promise, this.#over.promise]);
    }
    const unwanted = this.#state === 'offered';
    if (unwanted) await this.#giveBack();
    await this.#over.promise;
    unlisten();
    return !unwanted;
  }

  /** The agent claims the task. */
  async claim(): Promise<Refusal> {
    if (this.#state === 'over') return NOT_YOURS;
    if (this.#state !== 'offered') return 'it was claimed before';
    this.#state = 'claiming';
    this.#claimed.resolve();
    // The claim renews the lease: the run begins with a whole lease, or not at all.
    const answer = await this.#renew();
    if (this.#is('over')) return CANCELLED;
    if (answer === 'lost') {
      this.#end();
      return LOST;
    }
    if (answer === 'cancel') {
      await this.#giveBack();
      return CANCELLED;
    }
    this.#state = 'running';
    const { name, world } = this.#parts;
    this.#task = { ...this.#task, claimed_by: name, claimed_at: new Date(world.clock.wall()).toISOString() };
    if (this.#timeoutMs !== undefined) this.#after(this.#timeoutMs, () => void this.#kill('timeout'));
    return undefined;
  }

  /** Appends lines to its log, in the order of their arrival. */
  async log(lines: readonly DazflowLine[]): Promise<Refusal> {
    if (this.#state !== 'running') return NOT_YOURS;
    const { session, world } = this.#parts;
    const entries = entriesOf(lines, this.#lines, world.clock.wall());
    this.#lines += entries.length;
    try {
      await this.#retrying(() => session.log(this.#assignment, entries));
      return undefined;
    } catch (error) {
      if (isEngineError(error, 'TOO_LARGE')) return this.#truncated();
      if (!isEngineError(error, 'LEASE_LOST')) throw error;
      this.#end();
      return LOST;
    }
  }

  /** The log of the attempt is full. The agent goes on; a line says it once, and the numbers of what is dropped are taken. */
  async #truncated(): Promise<Refusal> {
    if (this.#isTruncated) return undefined;
    this.#isTruncated = true;
    const { session, world } = this.#parts;
    const text = '[truncated: the log of an attempt is full, and further lines are dropped]';
    const last: LogEntry = { seq: ++this.#lines, at: Math.floor(world.clock.wall()), stream: 'system', text };
    await session.log(this.#assignment, [last]).catch(() => {});
    return undefined;
  }

  complete(result: unknown): Promise<Refusal> {
    return this.#settle(() => this.#completed(result));
  }

  fail(error: unknown): Promise<Refusal> {
    return this.#settle(() => this.#parts.session.fail(this.#assignment, error));
  }

  /** The connection is gone. Messages that arrived before are still handled, for as long as the lease can hold. */
  disconnect(): void {
    this.#disconnected = true;
  }

  /** No more messages come. Resolves when nothing more is written for the task. */
  async close(): Promise<void> {
    if (this.#state === 'offered' || this.#state === 'claiming') await this.#giveBack();
    // The task runs, or has run: its lease says when another worker may have it.
    else if (this.#state === 'running') this.#end();
    await this.#over.promise;
  }

  async #kill(why: 'cancelled' | 'timeout'): Promise<void> {
    if (this.#killed !== undefined) return;
    // A task that was not started is released, and ends as cancelled by that.
    if (this.#state === 'offered' || this.#state === 'claiming') await this.#giveBack();
    if (this.#state !== 'running') return;
    this.#killed = why;
    this.#parts.send({ type: 'kill_task', task_id: this.task.id });
    // Whether the agent obeyed or not: it was told, and others wait for what the task holds.
    this.#after(KILL_MS, () => void this.#settle(() => Promise.resolve()));
  }

  /** Records the end. A killed task has ended by the kill, whatever the agent says after it. */
  async #settle(record: () => Promise<unknown>): Promise<Refusal> {
    if (this.#state !== 'running') return NOT_YOURS;
    this.#state = 'ending';
    try {
      await this.#retrying(() => (this.#killed === undefined ? record() : this.#recordKill()));
      return undefined;
    } catch (error) {
      if (isEngineError(error, 'LEASE_LOST')) return LOST;
      this.#parts.log.error('the end of a task cannot be recorded', { task: this.task.id, error: stackOf(error) });
      return 'its end could not be recorded';
    } finally {
      this.#end();
    }
  }

  async #recordKill(): Promise<unknown> {
    const { session } = this.#parts;
    if (this.#killed === 'cancelled') return session.cancelled(this.#assignment);
    return session.fail(this.#assignment, fault('RUN_TIMEOUT', { timeoutMs: this.#timeoutMs }).toJSON());
  }

  async #completed(result: unknown): Promise<unknown> {
    const { session } = this.#parts;
    try {
      // Kept before the end: if this process dies between the two, the next attempt finds it.
      if (this.#assignment.reuses === true) await session.keep(this.#assignment, result);
      return await session.complete(this.#assignment, result);
    } catch (error) {
      // A result that cannot be kept is the fault of the agent, and the next try would give the same.
      if (!isEngineError(error, 'INVALID_INPUT') && !isEngineError(error, 'TOO_LARGE')) throw error;
      return session.fail(this.#assignment, error.toJSON(), { giveUp: true });
    }
  }

  /** Releases the task with its try. If that fails, the task comes back when its lease has run out. */
  async #giveBack(): Promise<void> {
    this.#end();
    await this.#parts.session.release(this.#assignment).catch(() => {});
  }

  #renewAfter(ms: number): void {
    const { session, isHeard } = this.#parts;
    this.#after(ms, () => {
      this.#renewAfter(session.leaseMs / 3);
      if (isHeard() || this.#state === 'ending') void this.#renew().then((answer) => this.#onRenewal(answer));
    });
  }

  /** Undefined: the store did not answer. */
  #renew(): Promise<RenewalAnswer | undefined> {
    return this.#parts.session.renew([this.#assignment]).then(
      ([answer]) => answer,
      () => undefined,
    );
  }

  #onRenewal(answer: RenewalAnswer | undefined): void {
    if (answer === 'cancel') void this.#kill('cancelled');
    // While the end is recorded, its answer counts: it may be what has ended the lease.
    if (answer !== 'lost' || this.#state === 'ending' || this.#state === 'over') return;
    if (this.#state === 'running') this.#parts.send({ type: 'kill_task', task_id: this.task.id });
    this.#end();
  }

  #pollCancels(): void {
    const { session } = this.#parts;
    this.#after(CANCEL_POLL_MS, () => {
      this.#pollCancels();
      const mine = ({ task, attempt }: { task: number; attempt: number }): boolean =>
        task === this.#assignment.task && attempt === this.#assignment.attempt;
      session.cancels().then(
        (leases) => (leases.some(mine) ? this.#kill('cancelled') : undefined),
        () => {},
      );
    });
  }

  /** Retries while the store fails; after a disconnect no longer than the lease can hold. */
  async #retrying<T>(record: () => Promise<T>): Promise<T> {
    const { session, world } = this.#parts;
    const since = world.clock.monotonic();
    for (let ms = RETRY_MS; ; ms = Math.min(MAX_RETRY_MS, ms * 2)) {
      try {
        return await record();
      } catch (error) {
        if (!isEngineError(error) || !error.retryable) throw error;
        if (this.#disconnected && world.clock.monotonic() - since > session.leaseMs) throw error;
      }
      await pause(world.timers, ms * (0.5 + world.random() / 2));
    }
  }

  /** Read again: the state may have changed during an await. */
  #is(state: 'over'): boolean {
    return this.#state === state;
  }

  #end(): void {
    this.#state = 'over';
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#over.resolve();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#after(ms, resolve));
  }

  /** Does nothing once the attempt is over. */
  #after(ms: number, act: () => void): void {
    if (this.#state === 'over') return;
    const cancel = this.#parts.world.timers.after(
      ms,
      () => {
        this.#timers.delete(cancel);
        act();
      },
      { unref: true },
    );
    this.#timers.add(cancel);
  }
}

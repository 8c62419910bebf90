import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { describeFailure } from '../../core/task/failure.ts';
import { afterFailure, afterRelease, type Lease, MAX_BOUNCES } from '../../core/task/lease.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { FinalState, Reason, TaskState } from '../../core/task/task.ts';
import type {
  Grant,
  RenewAnswer,
  RenewItem,
  ReturnItem,
  SettleAnswer,
  SettleItem,
  Store,
  Then,
} from '../../store/store.ts';
import { checkFlag, checkLease, checkOptions } from '../check.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import type { Interner } from '../push/interner.ts';
import { readSpec } from '../push/spec.ts';
import type { CompleteOptions, FailOptions, ReleaseOptions } from './settle-options.ts';
import type { CheckedThen } from './turn-request.ts';

/**
 * A lease as a caller may hold it. Fields of the grant beyond (task, attempt) save a read, and are trusted: `tries`, `maxTries`, `bounces`
 * and `spec` decide what becomes of the task. Callers in this process may pass them on. A layer that speaks for others over a wire must
 * pass (task, attempt) alone.
 */
export type HeldLease = Lease & Partial<Omit<Grant, keyof Lease>>;

/** An attempt that went well, and its result. */
export interface Completed extends CompleteOptions {
  readonly lease: HeldLease;
  readonly result: unknown;
}

const FAIL: ReadonlySet<string> = new Set(['giveUp', 'retryAfterMs', 'limit', 'by'] satisfies (keyof FailOptions)[]);
const RELEASE: ReadonlySet<string> = new Set(['bounced', 'delayMs'] satisfies (keyof ReleaseOptions)[]);
const RESULT = { field: 'result' } as const;
/** What a task may take from all others that share its limit. The task itself may come back later than that. */
export const MAX_PAUSE_MS = 3_600_000;

export interface SettlesDeps {
  readonly store: Pick<Store, 'capabilities' | 'taskSettle' | 'taskReturn' | 'taskGet' | 'attemptList'>;
  readonly renew: (items: readonly RenewItem[]) => Promise<readonly RenewAnswer[]>;
  readonly coalescer: Coalescer;
  readonly interner: Interner;
  readonly random: () => number;
  /** A task is ready again; its lane is not always known. */
  readonly onReady: (lane: number | undefined, priority: number | undefined) => void;
  /** A task of this lane is about to end. Claims that wait for room can look now, and share the commit with its end. */
  readonly onFreeing: (lane: number) => void;
  /** What a task of this lane took from its limits is free again. */
  readonly onFreed: (lane: number) => void;
  readonly onDue: (inMs: number) => void;
  readonly onCommit: (task: number) => void;
  readonly onSettled: (lease: Lease, state: TaskState) => void;
  /** The lease is lost, or has ended. */
  readonly onRefused: (lease: Lease, what: 'renewal' | 'report') => void;
}

/** Everything that the holder of a lease can report. Each call is fenced: an attempt that was overtaken gets `LEASE_LOST`. */
export class Settles {
  readonly #deps: SettlesDeps;
  readonly #settle: Batcher<SettleItem, SettleAnswer>;
  readonly #return: Batcher<ReturnItem, SettleAnswer>;
  readonly #renew: Batcher<RenewItem, RenewAnswer>;

  constructor(deps: SettlesDeps) {
    const { store, coalescer } = deps;
    this.#deps = deps;
    this.#settle = coalescer.batcher({
      name: 'settle',
      maxItems: 250,
      maxInFlight: 2,
      send: (items) => store.taskSettle({ items }),
    });
    this.#return = coalescer.batcher({
      name: 'return',
      maxItems: 250,
      maxInFlight: 2,
      send: (items) => store.taskReturn({ items }),
    });
    this.#renew = coalescer.batcher({
      name: 'renew',
      maxItems: 500,
      maxInFlight: 1,
      send: (items) => deps.renew(items),
    });
  }

  async renew(lease: Lease, ttlMs: number): Promise<RenewAnswer> {
    checkLease(lease);
    const answer = await this.#renew.submit({ task: lease.task, attempt: lease.attempt, ttlMs });
    if (!answer.held) this.#deps.onRefused(lease, 'renewal');
    return answer;
  }

  async complete(lease: HeldLease, result?: unknown): Promise<void> {
    checkLease(lease);
    await this.#end(lease, 'completed', 'none', result === undefined ? undefined : encodePayload(result, RESULT));
  }

  /** As `complete` for several. Answers for each nothing, or why it was refused. */
  async completeMany(ends: readonly Completed[]): Promise<readonly (Error | undefined)[]> {
    const answers: (Error | undefined)[] = ends.map(() => undefined);
    const items: SettleItem[] = [];
    const places: number[] = [];
    for (const [i, { lease, result }] of ends.entries()) {
      try {
        checkLease(lease);
        const text = result === undefined ? undefined : encodePayload(result, RESULT);
        items.push(settleItem(lease, 'completed', 'none', text));
        places.push(i);
      } catch (error) {
        answers[i] = error as Error;
      }
    }
    const sent = this.#settle.submitMany(items);
    const lanes = new Set<number>();
    for (const { hint } of items) if (hint !== undefined) lanes.add(hint.lane);
    if (this.#deps.store.capabilities.sharesCommits) for (const lane of lanes) this.#deps.onFreeing(lane);
    const settled = await sent;
    for (const [at, answer] of settled.entries()) {
      const place = places[at] as number;
      answers[place] = this.#ended((ends[place] as Completed).lease, 'completed', answer);
    }
    for (const lane of lanes) this.#deps.onFreed(lane);
    return answers;
  }

  async fail(lease: HeldLease, error: unknown, options: FailOptions): Promise<TaskState> {
    checkLease(lease);
    const verdict = await this.#afterFailure(lease, error, options);
    if (verdict.go === 'back') return this.#giveBack(lease, verdict);
    await this.#end(lease, verdict.to, verdict.reason, verdict.result);
    return verdict.to;
  }

  /** How a turn goes on, in the form that the store takes. */
  async thenOf(lease: HeldLease, then: CheckedThen): Promise<Then> {
    if (then.go === 'fail') return this.#afterFailure(lease, then.error, then.options);
    if (then.go !== 'complete') return then;
    const result = then.result === undefined ? undefined : encodePayload(then.result, RESULT);
    return { go: 'end', to: 'completed', reason: 'none', result };
  }

  async #afterFailure(
    lease: HeldLease,
    error: unknown,
    options: FailOptions,
  ): Promise<Then & { readonly go: 'end' | 'back' }> {
    checkFail(options);
    const text = describeFailure(error);
    const back = { go: 'back', change: 'retried', bounced: false, error: text } as const;
    if (options.retryAfterMs !== undefined) {
      const delayMs = parseDuration(options.retryAfterMs, 'retryAfterMs');
      return {
        ...back,
        delayMs,
        refund: true,
        pause: { limit: options.limit, forMs: Math.min(delayMs, MAX_PAUSE_MS), by: options.by ?? 'a task' },
      };
    }
    if (options.giveUp) return { go: 'end', to: 'failed', reason: 'gave_up', result: text };
    const budget = await this.#budgetOf(lease);
    const { retry } = readSpec(await this.#deps.interner.specBody(budget.spec));
    const verdict = afterFailure(budget, retry, this.#deps.random());
    if (verdict.to === 'again') return { ...back, delayMs: verdict.delayMs, refund: false };
    return { go: 'end', to: verdict.to, reason: verdict.reason, result: text };
  }

  async release(lease: HeldLease, options: ReleaseOptions): Promise<TaskState> {
    checkLease(lease);
    checkOptions('options', options, RELEASE);
    checkFlag('bounced', options.bounced);
    const bounced = options.bounced ?? false;
    const delayMs = parseDuration(options.delayMs ?? 0, 'delayMs');
    const bounces = bounced ? (await this.#budgetOf(lease)).bounces : 0;
    const verdict = afterRelease(bounces, bounced, delayMs);
    if (verdict.to === 'again') {
      return this.#giveBack(lease, { change: 'released', delayMs: verdict.delayMs, refund: true, bounced });
    }
    const result = encodePayload({ message: `given back ${MAX_BOUNCES} times without being started` });
    await this.#end(lease, verdict.to, verdict.reason, result);
    return verdict.to;
  }

  async cancelled(lease: HeldLease, said?: unknown): Promise<void> {
    checkLease(lease);
    await this.#end(lease, 'cancelled', 'requested', said === undefined ? undefined : encodePayload(said, RESULT));
  }

  async #end(lease: HeldLease, to: FinalState, reason: Reason, result: string | undefined): Promise<void> {
    const { lane } = lease;
    const sent = this.#settle.submit(settleItem(lease, to, reason, result));
    if (lane !== undefined && this.#deps.store.capabilities.sharesCommits) this.#deps.onFreeing(lane);
    const refusal = this.#ended(lease, to, await sent);
    if (refusal !== undefined) throw refusal;
    if (lane !== undefined) this.#deps.onFreed(lane);
  }

  /** Tells others of an end that was committed, or answers why it was refused. */
  #ended(lease: Lease, to: FinalState, answer: SettleAnswer): Error | undefined {
    this.#deps.onCommit(lease.task);
    if (answer === 'lost') return this.#lost(lease);
    if (answer !== 'repeated') this.#deps.onSettled(lease, answer === 'cancelled' ? answer : to);
    return undefined;
  }

  #lost(lease: Lease): Error {
    this.#deps.onRefused(lease, 'report');
    return leaseLost(lease);
  }

  async #giveBack(lease: HeldLease, item: Omit<ReturnItem, keyof Lease>): Promise<TaskState> {
    const { change, delayMs, refund, bounced, error, pause } = item;
    const { task, attempt } = lease;
    const answer = await this.#return.submit({ task, attempt, change, delayMs, refund, bounced, error, pause });
    if (answer === 'lost') throw this.#lost(lease);
    const state = answer === 'cancelled' ? 'cancelled' : item.delayMs > 0 ? 'scheduled' : 'ready';
    this.#deps.onCommit(lease.task);
    if (answer !== 'repeated') this.#deps.onSettled(lease, state);
    if (lease.lane !== undefined) this.#deps.onFreed(lease.lane);
    if (state === 'scheduled') this.#deps.onDue(item.delayMs);
    if (state === 'ready') this.#deps.onReady(lease.lane, lease.priority);
    return state;
  }

  /** The budget and policy of the attempt, from its grant or else from its row. */
  async #budgetOf(lease: HeldLease): Promise<AttemptBudget> {
    const { tries, maxTries, bounces, spec } = lease;
    if (tries !== undefined && maxTries !== undefined && bounces !== undefined && spec !== undefined) {
      return { tries, maxTries, bounces, spec };
    }
    const [record] = await this.#deps.store.taskGet({ tasks: [lease.task] });
    if (record === undefined) throw leaseLost(lease);
    if (record.state === 'running' && record.attempt === lease.attempt) return record;
    // The attempt has ended. A call that is repeated because its answer was lost must come out as it did then.
    const attempts = await this.#deps.store.attemptList({ task: lease.task });
    const past = attempts.find(({ attempt }) => attempt === lease.attempt);
    const ended = past?.outcome ?? (record.attempt === lease.attempt ? record.state : undefined);
    return { spec: record.spec, ...(ended === 'failed' ? SPENT : FRESH) };
  }
}

interface AttemptBudget {
  readonly tries: number;
  readonly maxTries: number;
  readonly bounces: number;
  readonly spec: number;
}

const SPENT = { tries: 1, maxTries: 1, bounces: MAX_BOUNCES };
const FRESH = { tries: 1, maxTries: 2, bounces: 0 };

function settleItem(lease: HeldLease, to: FinalState, reason: Reason, result: string | undefined): SettleItem {
  const { task, attempt, lane, createdAt } = lease;
  const hint = lane === undefined || createdAt === undefined ? undefined : { lane, createdAt };
  return { task, attempt, to, reason, result, hint };
}

function checkFail(options: FailOptions): void {
  checkOptions('options', options, FAIL);
  checkFlag('giveUp', options.giveUp);
  if (options.giveUp && options.retryAfterMs !== undefined) {
    throw fault('INVALID_INPUT', {
      field: 'retryAfterMs',
      problem: 'a task is either given up or comes back later, not both',
    });
  }
}

function leaseLost(lease: Lease): Error {
  return fault('LEASE_LOST', { task: lease.task, attempt: lease.attempt });
}

import type { PoolSpec } from './pool.ts';

/** A worker of the pool that is there. */
export interface PoolWorker {
  readonly worker: number;
  /** Tasks that it runs. */
  readonly running: number;
  /** It was sent home, and finishes what it has. */
  readonly leaving: boolean;
  /** How long it has had no task; 0 for one that has some. */
  readonly idleMs: number;
  /** A ticket brought it. Others are counted and never sent home. */
  readonly ours: boolean;
}

/** The work and the workers of a pool, as a store has counted them. All times are of one clock. */
export interface PoolState {
  /** Ready tasks that neither a limit nor a pause holds back. */
  readonly runnable: number;
  /** Ready tasks that limits hold back: nobody is started for them. */
  readonly blocked: number;
  /** How long the oldest runnable task has been ready. */
  readonly oldestAgeMs: number;
  /** Open tickets. */
  readonly starting: number;
  readonly workers: readonly PoolWorker[];
  /** When workers were last started, and last sent home. */
  readonly upAt: number | undefined;
  readonly downAt: number | undefined;
  /** How many starts have failed since one has succeeded, and when the last one did. */
  readonly failures: number;
  readonly failedAt: number | undefined;
}

/** Why a decision is as it is; the words for people are made where it is shown. */
export type PoolReason = (typeof POOL_REASONS)[number];
export const POOL_REASONS = [
  'work', // tasks wait for workers
  'late', // a task has waited for longer than the target
  'below_min',
  'at_max', // there is more work than the most workers are there for
  'burst', // the most that one check starts
  'below_threshold', // too few tasks wait to start a worker beside others
  'limits', // tasks wait for their limits, and no worker could start them
  'cooldown_up',
  'cooldown_down',
  'backoff', // the last starts have failed
  'probe', // the last starts have failed: one is tried
  'idle', // workers have had no task for long enough
  'off', // the pool is off
] as const;

export interface PoolDecision {
  /** Workers that the work asks for, between the least and the most. */
  readonly want: number;
  /** Workers that are there or on their way, leaving ones too. */
  readonly there: number;
  readonly launch: number;
  /** Idle workers to send home. */
  readonly drain: readonly number[];
  readonly reasons: readonly PoolReason[];
  /** After so long time alone may change the decision. Undefined: it takes an event. */
  readonly againMs: number | undefined;
}

/** After so many failed starts in a row workers are started one at a time. */
const MANY_FAILURES = 3;
const FIRST_BACKOFF_MS = 1000;
const MOST_BACKOFF_MS = 60_000;

/** How long after a failed start the next one is tried. */
export function backoffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(MOST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(16, failures - 1));
}

/**
 * Decides how many workers to start, or which to send home; never both. A worker is there for `tasksPerWorker` tasks, those that it runs
 * and those that wait, so that busy workers are never taken for free ones. The store bounds the starts once more when it reserves them.
 */
export function decidePool(state: PoolState, { policy, enabled }: PoolSpec, now: number): PoolDecision {
  const reasons: PoolReason[] = [];
  const staying = state.workers.filter(({ leaving }) => !leaving);
  const serving = state.starting + staying.length;
  const there = state.starting + state.workers.length;
  if (!enabled) {
    const drain = staying.filter(isIdle).map(({ worker }) => worker);
    return { want: 0, there, launch: 0, drain, reasons: ['off'], againMs: undefined };
  }
  const want = wanted(state, policy, { staying, serving }, reasons);
  if (want > serving) return up(state, policy, { want, serving, there, now, reasons });
  return down(state, policy, { want, serving, there, now, reasons, staying });
}

type Policy = PoolSpec['policy'];

function wanted(
  { runnable, blocked, oldestAgeMs }: PoolState,
  policy: Policy,
  { staying, serving }: { readonly staying: readonly PoolWorker[]; readonly serving: number },
  reasons: PoolReason[],
): number {
  const { min, max, tasksPerWorker, scaleUpThreshold, targetWaitMs } = policy;
  const held = staying.reduce((sum, { running }) => sum + running, 0);
  const late = runnable > 0 && targetWaitMs !== undefined && oldestAgeMs > targetWaitMs;
  const busy = staying.filter(({ running }) => running > 0).length;
  let needed = Math.max(busy, Math.ceil((runnable + held) / (late ? 1 : tasksPerWorker)));
  const few = runnable > 0 && runnable < scaleUpThreshold && !late;
  if (few && serving > 0 && needed > serving) {
    needed = serving;
    reasons.push('below_threshold');
  }
  if (needed > serving) reasons.push(late ? 'late' : 'work');
  else if (runnable === 0 && blocked > 0) reasons.push('limits');
  if (needed > max) reasons.push('at_max');
  if (min > needed && min > serving) reasons.push('below_min');
  return Math.min(max, Math.max(min, needed));
}

interface Found {
  readonly want: number;
  readonly serving: number;
  readonly there: number;
  readonly now: number;
  readonly reasons: PoolReason[];
}

function up(state: PoolState, policy: Policy, { want, serving, there, now, reasons }: Found): PoolDecision {
  const none = (reason: PoolReason, againMs: number): PoolDecision => {
    return { want, there, launch: 0, drain: [], reasons: [...reasons, reason], againMs };
  };
  const backoff = rest(state.failedAt, backoffMs(state.failures), now);
  if (backoff > 0) return none('backoff', backoff);
  // The least number of workers is kept without a pause.
  const cooldown = serving < policy.min ? 0 : rest(state.upAt, policy.cooldownUpMs, now);
  if (cooldown > 0) return none('cooldown_up', cooldown);
  const asked = Math.max(0, Math.min(want - serving, policy.max - there));
  if (asked < want - serving && !reasons.includes('at_max')) reasons.push('at_max');
  const most = state.failures >= MANY_FAILURES ? 1 : policy.burst;
  const launch = Math.min(asked, most);
  if (launch < asked) reasons.push(state.failures >= MANY_FAILURES ? 'probe' : 'burst');
  return { want, there, launch, drain: [], reasons, againMs: launch < asked ? FIRST_BACKOFF_MS : undefined };
}

function down(
  state: PoolState,
  policy: Policy,
  { want, serving, there, now, reasons, staying }: Found & { readonly staying: readonly PoolWorker[] },
): PoolDecision {
  const still = (againMs: number | undefined, ...more: PoolReason[]): PoolDecision => {
    return {
      want,
      there,
      launch: 0,
      drain: [],
      reasons: [...reasons, ...more],
      againMs: earliest(againMs, lateIn(state, policy)),
    };
  };
  const idle = staying.filter((one) => isIdle(one) && one.ours);
  if (want === serving || idle.length === 0) return still(undefined);
  const due = idle
    .filter(({ idleMs }) => idleMs >= policy.idleMs)
    .toSorted((a, b) => b.idleMs - a.idleMs || a.worker - b.worker);
  if (due.length === 0) return still(Math.min(...idle.map(({ idleMs }) => policy.idleMs - idleMs)));
  const cooldown = Math.max(
    rest(state.upAt, policy.cooldownDownMs, now),
    rest(state.downAt, policy.cooldownDownMs, now),
  );
  if (cooldown > 0) return still(cooldown, 'cooldown_down');
  const drain = due.slice(0, serving - want).map(({ worker }) => worker);
  // Who is one too many and has not been idle for long enough goes later.
  const later = idle.filter((one) => !due.includes(one)).map(({ idleMs }) => policy.idleMs - idleMs);
  const isEnough = drain.length === serving - want || later.length === 0;
  const againMs = isEnough ? undefined : Math.max(policy.cooldownDownMs, Math.min(...later));
  return { want, there, launch: 0, drain, reasons: [...reasons, 'idle'], againMs };
}

/** When a task that waits becomes late, if that would change something. */
function lateIn({ runnable, oldestAgeMs }: PoolState, { targetWaitMs }: Policy): number | undefined {
  if (runnable === 0 || targetWaitMs === undefined || oldestAgeMs > targetWaitMs) return undefined;
  return targetWaitMs - oldestAgeMs + 1;
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

function isIdle({ running }: PoolWorker): boolean {
  return running === 0;
}

/** What is left of a time that began then. A clock that was set back does not make it longer. */
function rest(since: number | undefined, forMs: number, now: number): number {
  if (since === undefined) return 0;
  return Math.min(forMs, Math.max(0, since + forMs - now));
}

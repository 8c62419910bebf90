/**
 * The life of a task, as one table.
 *
 *   created ──> scheduled ──staged──> ready ──claimed──> running ──> completed | failed | cancelled
 *                   ^                  ^  ^                │ │
 *                   └──────────────────┴──┼──retried───────┘ │
 *                                         └──woken── waiting <── parked
 *
 * `timed_out` ends a task that waited too long for its first start.
 * `revived` (a person asks a finished task to run again) is the only way out of a final state.
 */

/** The position in this list is the number that the stores write. */
export const STATES = ['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'] as const;
export type TaskState = (typeof STATES)[number];
export type FinalState = 'completed' | 'failed' | 'cancelled';

/** Everything that can happen to a task; the position is the number of the event's kind. */
export const CHANGES = [
  'created',
  'claimed',
  'completed',
  'failed',
  'cancelled',
  'retried',
  'released',
  'expired',
  'staged',
  'revived',
  'cancel_requested',
  'parked',
  'woken',
  'timed_out',
  'budget_warned',
] as const;
export type Change = (typeof CHANGES)[number];

/** Why a task ended as it did; the position is the number that the stores write, 0 means none. */
export const REASONS = [
  'none',
  'exhausted',
  'undeliverable',
  'gave_up',
  'requested',
  'dependency',
  'timeout',
  'replaced',
] as const;
export type Reason = (typeof REASONS)[number];

/**
 * `cancelled`: it has ended. `requested`: it runs, and its worker was asked to stop it. `finished`: it had ended
 * before, and was not changed.
 */
export type CancelAct = 'cancelled' | 'requested' | 'finished';

/**
 * `again`: it runs again, after its dependencies. `kept`: it has completed, and keeps its result. `unfinished`: it has not ended.
 * `blocked`: a dependency has failed and does not run again with it.
 */
export type RetryAct = 'again' | 'kept' | 'unfinished' | 'blocked';

interface Rule {
  readonly from: readonly TaskState[];
  readonly to: readonly TaskState[];
}

const UNFINISHED = ['ready', 'running', 'scheduled', 'waiting'] as const;
const FINAL = ['completed', 'failed', 'cancelled'] as const;

/** Every legal transition; all others are illegal. */
export const TRANSITIONS: Readonly<Record<Exclude<Change, 'created'>, Rule>> = {
  claimed: { from: ['ready'], to: ['running'] },
  completed: { from: ['running'], to: ['completed'] },
  // A waiting task fails when a dependency did not complete.
  failed: { from: ['running', 'waiting'], to: ['failed'] },
  cancelled: { from: UNFINISHED, to: ['cancelled'] },
  retried: { from: ['running'], to: ['ready', 'scheduled'] },
  released: { from: ['running'], to: ['ready', 'scheduled'] },
  expired: { from: ['running'], to: ['ready', 'scheduled', 'failed', 'cancelled'] },
  staged: { from: ['scheduled'], to: ['ready'] },
  // Its dependencies may have been revived with it.
  revived: { from: FINAL, to: ['ready', 'waiting'] },
  cancel_requested: { from: ['running'], to: ['running'] },
  parked: { from: ['running'], to: ['waiting'] },
  woken: { from: ['waiting'], to: ['ready', 'scheduled'] },
  timed_out: { from: ['ready', 'scheduled'], to: ['failed'] },
  // What it drew or used has brought the budget of its tree to the soft bound.
  budget_warned: { from: ['running'], to: ['running'] },
};

/** The states in which a task may be created. */
export const BIRTHS: readonly TaskState[] = ['ready', 'scheduled', 'waiting'];

export function isLegal(change: Change, from: TaskState | undefined, to: TaskState): boolean {
  if (change === 'created') return from === undefined && BIRTHS.includes(to);
  if (from === undefined) return false;
  const rule = TRANSITIONS[change];
  return rule.from.includes(from) && rule.to.includes(to);
}

export function isFinal(state: TaskState): state is FinalState {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

/** Priorities are whole numbers, higher first. The bounds are those of a 16-bit column. */
export const PRIORITY_MIN = -32_768;
export const PRIORITY_MAX = 32_767;
export const MAX_TRIES_BOUND = 32_767;

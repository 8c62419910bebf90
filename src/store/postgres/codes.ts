import { REASONS, type Reason, STATES, type TaskState } from '../../core/task.ts';

/** How an attempt ended; the position is the number in `attempt.outcome`. */
export const OUTCOMES = ['retried', 'released', 'expired', 'completed', 'failed', 'cancelled'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const reasonCode = (reason: Reason): number => REASONS.indexOf(reason);
export const stateCode = (state: TaskState): number => STATES.indexOf(state);
export const stateOf = (code: number): TaskState => STATES[code] as TaskState;

/** Flags of a task row. */
export const PAYLOAD_APART = 2;
export const SUSPECT = 16;

/** Texts above this lie apart from their row, so that a claim and the end of a task do not write them again. */
export const INLINE_LENGTH = 1024;
export const isLong = (text: string | undefined): boolean => text !== undefined && text.length > INLINE_LENGTH;

/** The other way round, so that ascending order is claim order; both fill 16 bits. */
export const prioOf = (priority: number): number => ~priority;
export const priorityOf = (prio: number): number => ~prio;

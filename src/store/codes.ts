import { REASONS, type Reason, STATES, type TaskState } from '../core/task.ts';

/** The numbers and limits by which every store writes the same things. */

/** How an attempt ended; the position is the number in `attempt.outcome`. */
export const OUTCOMES = ['retried', 'released', 'expired', 'completed', 'failed', 'cancelled'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const reasonCode = (reason: Reason): number => REASONS.indexOf(reason);
export const stateCode = (state: TaskState): number => STATES.indexOf(state);
export const stateOf = (code: number): TaskState => STATES[code] as TaskState;

/** Flags of a task row; 1 (something depends on it) and 4 (it has checkpoints or waits) are reserved. */
export const PAYLOAD_APART = 2;
export const RESULT_APART = 8;
/** The lease of an earlier attempt ran out: this task may be what killed its worker. */
export const SUSPECT = 16;

/**
 * Texts above this lie apart from their row, so that a claim and the end of a task do not write them again. Length in
 * UTF-16 units is a bound that is cheap to test: a text this short is at most three times as many bytes.
 */
const INLINE_LENGTH = 1024;
export const fitsInline = (text: string): boolean => text.length <= INLINE_LENGTH;

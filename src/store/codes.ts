import { UNITS, type Unit } from '../core/limits/budget.ts';
import { WORKER_STATES } from '../core/placement/worker.ts';
import { REASONS, type Reason, STATES, type TaskState } from '../core/task/task.ts';
import type { NewTask } from './port/push-store.ts';
import type { EntryKind } from './port/turn-store.ts';

/** Numbers and limits that all stores write in the same way. */

/** How an attempt ended; the position is the number in `attempt.outcome`. */
export const OUTCOMES = ['retried', 'released', 'expired', 'completed', 'failed', 'cancelled', 'parked'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const reasonCode = (reason: Reason): number => REASONS.indexOf(reason);
export const stateCode = (state: TaskState): number => STATES.indexOf(state);
export const stateOf = (code: number): TaskState => STATES[code] as TaskState;

/** What an entry of a journal is; the position is the number in `journal.kind`. */
export const ENTRY_KINDS = [
  'value',
  'element',
  'mark',
  'wait',
  'child',
  'signal',
] as const satisfies readonly EntryKind[];
export const kindCode = (kind: EntryKind): number => ENTRY_KINDS.indexOf(kind);

/** A unit of budgets; the position is the number in `budget.unit`. */
export const unitCode = (unit: Unit): number => UNITS.indexOf(unit);
export const unitOf = (code: number): Unit => UNITS[code] as Unit;
/** Flags of `budget.told`: tasks wait for more of it; its soft bound was told of. */
export const AWAITED = 1;
export const WARNED = 2;

/** A worker that finishes what it has and takes nothing more. */
export const DRAINING = WORKER_STATES.indexOf('draining');

/** Flags of a task row. 4 (it has checkpoints or waits) is reserved. 1: something waits for its end. */
export const WATCHED = 1;
export const PAYLOAD_APART = 2;
export const RESULT_APART = 8;
/** The lease of an earlier attempt ran out: this task may be what killed its worker. */
export const SUSPECT = 16;
/** What becomes of a task when something that it needs did not complete. With neither flag it is cancelled. */
export const FAILS_AFTER = 32;
export const RUNS_AFTER = 64;
/** A root that has members. */
export const TREE = 128;
/** It has an allowance of a budget. Each statement that takes it out of `running` leaves it to one that gives that back. */
export const METERED = 256;
/** The tree of this root is being pruned, and none of its members can be revived. */
export const REMOVING = 512;
/** Its first start was asked for at a calendar time. Everything else that comes due does so after a while. */
export const AT_TIME = 1024;
export const timeFlag = ({ runAt }: Pick<NewTask, 'runAt'>): number => (runAt === undefined ? 0 : AT_TIME);
/** The most dependents that one transaction handles. `depCarry` handles the rest. */
export const DOWN_BATCH = 500;

/**
 * Longer texts are stored apart from their row, so that a claim and the end of a task do not write them again. The
 * length in UTF-16 units is cheap to test, and bounds the bytes: at most three for each unit.
 */
const INLINE_LENGTH = 1024;
export const fitsInline = (text: string): boolean => text.length <= INLINE_LENGTH;

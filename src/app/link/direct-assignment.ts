import type { HeldLease } from '../../engine/settle/settles.ts';
import type { Assignment } from '../../protocol/link.ts';
import type { Grant } from '../../store/store.ts';

/** The grant is kept with the assignment: it saves a read when the task is settled. */
export interface DirectAssignment extends Assignment {
  /** Without its payload where nothing needs it: it would stay in memory as long as the lease does. */
  readonly grant: Grant;
}

/** An assignment without a grant costs a read: it came over a wire to a node that did not grant it. */
export function heldOf(lease: Assignment): HeldLease {
  return (lease as Partial<DirectAssignment>).grant ?? { task: lease.task, attempt: lease.attempt };
}

/** What a spec means for a worker. */
export interface SpecTerms {
  readonly timeoutMs: number | undefined;
  readonly reuses: boolean;
}

/** Leaves out what only the engine uses. Written out: taking an object apart by its rest costs a microsecond a task. */
export function assignmentOf(
  grant: Grant,
  id: string,
  { timeoutMs, reuses }: SpecTerms,
  credentials?: readonly string[],
): DirectAssignment {
  const { task, attempt, queue, handler, payload, tries, maxTries, createdAt, suspect } = grant;
  const assignment = {
    task,
    attempt,
    id,
    queue,
    handler,
    createdAt,
    suspect,
    payload,
    tries,
    maxTries,
    timeoutMs,
    reuses,
    grant: reuses ? grant : { ...grant, payload: '' },
  };
  return credentials === undefined ? assignment : { ...assignment, credentials };
}

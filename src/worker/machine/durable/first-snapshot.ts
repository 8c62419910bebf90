import { isMap, type Value } from '../../../flow/expression/values.ts';
import type { Machine } from '../../../flow/machine/definition.ts';
import { applyPatch, type SnapshotPatch } from '../../../flow/machine/history/patch.ts';
import { begin } from '../../../flow/machine/reduce.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import { emptySnapshot, type Snapshot } from '../../../flow/machine/snapshot.ts';

/** What a run is given. */
export interface RunGiven {
  readonly executionId: string;
  readonly parentExecutionId?: string | undefined;
  readonly depth?: number | undefined;
  readonly maxDepth?: number | undefined;
  readonly input: Value;
  /** Where a fork begins, as a patch of the empty snapshot. */
  readonly from?: SnapshotPatch | undefined;
}

/** Where a run begins of which nothing is stored. */
export function firstSnapshot(machine: Machine, run: RunGiven, now: number): Snapshot | StateError {
  const { executionId, parentExecutionId, depth, maxDepth, input, from } = run;
  if (from !== undefined) return forked(applyPatch(emptySnapshot(input), from, new Map()), executionId);
  try {
    return begin(machine, {
      executionId,
      ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
      ...(depth === undefined ? {} : { depth }),
      ...(maxDepth === undefined ? {} : { maxDepth }),
      input,
      now,
    });
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
}

/** A run of its own from where another one stood: also what its machine knows of itself. */
function forked(at: Snapshot, executionId: string): Snapshot {
  const { machine } = at.context;
  if (!isMap(machine)) return { ...at, executionId };
  const about = { ...machine, execution_id: executionId, worker_id: executionId };
  return { ...at, executionId, context: { ...at.context, machine: about } };
}

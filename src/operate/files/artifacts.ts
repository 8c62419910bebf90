import { fault } from '../../core/errors.ts';
import type { ArtifactRecord } from '../../engine/records.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { ArtifactView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { Operations } from '../operations/operation.ts';
import { findRun } from '../runs/find-run.ts';

/** Files that tasks leave behind, without their bytes. */
export const artifactOperations = {
  async listArtifacts(snapshot, { query = {} }) {
    const { task, run, name, cursor, limit = PER_PAGE } = query;
    if (task !== undefined && run !== undefined) {
      throw fault('INVALID_INPUT', { field: 'query', problem: 'give either a task or a run' });
    }
    const records = await snapshot.engine.artifacts.list({
      ...(task === undefined ? {} : { task: (await snapshot.record(task)).task }),
      ...(run === undefined ? {} : await treeOf(snapshot, run)),
      ...(name === undefined ? {} : { name }),
      ...(cursor === undefined ? {} : { before: numberOf(cursor) }),
      limit,
    });
    const next = records.length < limit ? undefined : records.at(-1)?.n;
    return {
      artifacts: await viewArtifacts(snapshot, records),
      ...(next === undefined ? {} : { cursor: String(next) }),
    };
  },

  getArtifact: (snapshot, { params: { id } }) => artifactOf(snapshot, id),

  async removeArtifact(snapshot, { params: { id }, query: { dryRun = false } = {} }) {
    const before = await artifactOf(snapshot, id);
    if (!dryRun) await snapshot.engine.artifacts.remove([id]);
    return before;
  },

  async artifactUsage({ engine }) {
    const { entries, bytes } = await engine.artifacts.usage();
    return { entries, bytes };
  },
} satisfies Operations;

async function artifactOf(snapshot: EngineSnapshot, id: string): Promise<ArtifactView> {
  const [view] = await viewArtifacts(snapshot, [await snapshot.engine.artifacts.get(id)]);
  return view as ArtifactView;
}

/** A run that is no root is a part of a tree: only its own artifacts are meant. */
async function treeOf(snapshot: EngineSnapshot, id: string): Promise<{ readonly root: number } | { task: number }> {
  const { task, root } = await findRun(snapshot, id);
  return root === undefined || root === task ? { root: task } : { task };
}

/** Ids of tasks are made of a number and a time, and a record has the number alone. */
async function viewArtifacts(
  { engine }: EngineSnapshot,
  records: readonly ArtifactRecord[],
): Promise<readonly ArtifactView[]> {
  const tasks = [...new Set(records.map(({ task }) => task))];
  const found = tasks.length === 0 ? [] : await engine.store.taskGet({ tasks });
  const ids = new Map(found.flatMap((one) => (one === undefined ? [] : [[one.task, engine.idOf(one)] as const])));
  return records.map(({ id, task, attempt, name, type, kind, size, sha256, createdAt }) => ({
    id,
    // A task that is no longer kept; its artifacts go next.
    task: ids.get(task) ?? String(task),
    attempt,
    name,
    type,
    kind,
    size,
    sha256,
    createdAt,
  }));
}

function numberOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not the cursor of a page' });
}

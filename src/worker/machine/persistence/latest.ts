/** Questions about all runs of a place, answered by their latest checkpoints. */
import type { ExecutionFilter, PersistenceBackend } from './backends.ts';
import { latestKey } from './keys.ts';
import { readWire, type WireSnapshot } from './wire-snapshot.ts';

type Reader = Pick<PersistenceBackend, 'load'>;

/** The latest checkpoint of a run; undefined: there is none. Throws `INVALID_INPUT` for what is no snapshot. */
export async function latestOf(backend: Reader, executionId: string): Promise<WireSnapshot | undefined> {
  const key = await backend.load(latestKey(executionId));
  return typeof key === 'string' ? readWire(executionId, await backend.load(key)) : undefined;
}

/** Those of these runs whose latest checkpoint fits. One that cannot be read fits no filter. */
export async function fitting(
  backend: Reader,
  ids: readonly string[],
  { event, waiting_channel }: ExecutionFilter,
): Promise<readonly string[]> {
  if (event === undefined && waiting_channel === undefined) return ids;
  const found: string[] = [];
  for (const id of ids) {
    const latest = await latestOf(backend, id).catch(() => undefined);
    if (latest === undefined) continue;
    if (event !== undefined && latest.event !== event) continue;
    if (waiting_channel === undefined || latest.waiting_channel === waiting_channel) found.push(id);
  }
  return found;
}

/** All runs but those that have ended. */
export async function incompleteExecutions(backend: PersistenceBackend): Promise<readonly string[]> {
  const ended = new Set(await backend.listExecutionIds({ event: 'machine_end' }));
  return (await backend.listExecutionIds()).filter((id) => !ended.has(id));
}

export interface PruneOptions {
  readonly maxAgeSeconds?: number | undefined;
  readonly maxCount?: number | undefined;
}

/** Deletes the runs that are older than that, then the oldest until so many are left, and resolves to how many. */
export async function prune(
  backend: PersistenceBackend,
  { maxAgeSeconds = Number.POSITIVE_INFINITY, maxCount = Number.POSITIVE_INFINITY }: PruneOptions,
  now: number = Date.now(),
): Promise<number> {
  const aged: { readonly id: string; readonly at: number }[] = [];
  for (const id of await backend.listExecutionIds()) aged.push({ id, at: await writtenAt(backend, id) });
  // The newest first; those of one moment by their names, so that every process chooses the same.
  aged.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  const gone = aged.filter(({ at }, i) => now - at > maxAgeSeconds * 1000 || i >= maxCount);
  for (const { id } of gone) await backend.deleteExecution(id);
  return gone.length;
}

/** What cannot be read is as old as anything. */
async function writtenAt(backend: Reader, id: string): Promise<number> {
  const latest = await latestOf(backend, id).catch((): undefined => undefined);
  const at = Date.parse(latest?.created_at ?? '');
  return Number.isNaN(at) ? 0 : at;
}

/** A run with the machines within it, which another run of this name would take for its own. */
export async function deleteTree(backend: PersistenceBackend, executionId: string): Promise<void> {
  const latest = await latestOf(backend, executionId).catch((): undefined => undefined);
  if (latest !== undefined) {
    for (const id of await backend.listExecutionIds()) {
      const one = await latestOf(backend, id).catch((): undefined => undefined);
      // A fork of a run names it as its parent too, and has its depth.
      if (one?.parent_execution_id === executionId && (one.depth ?? 0) > (latest.depth ?? 0))
        await deleteTree(backend, id);
    }
  }
  await backend.deleteExecution(executionId);
}

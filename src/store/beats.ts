import type { WorkerBeat } from './store.ts';

/** Merges beats into one for each worker, ordered by worker. The last value of a field wins, and ended tasks add up. */
export function mergeBeats(beats: readonly WorkerBeat[]): readonly WorkerBeat[] {
  const merged = new Map<number, WorkerBeat>();
  for (const beat of beats) {
    const before = merged.get(beat.worker);
    const ended = (before?.ended ?? 0) + (beat.ended ?? 0);
    merged.set(beat.worker, { ...before, ...said(beat), ...(ended === 0 ? {} : { ended }) });
  }
  return [...merged.values()].toSorted((a, b) => a.worker - b.worker);
}

function said(beat: WorkerBeat): WorkerBeat {
  return Object.fromEntries(Object.entries(beat).filter(([, value]) => value !== undefined)) as unknown as WorkerBeat;
}

import type { WorkerBeat } from './store.ts';

/** One beat a worker, in the order of their numbers: of what several say the last word counts, and what they have ended adds up. */
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

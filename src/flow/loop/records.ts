/** Phases of a loop that have ended. All that it counts is counted from these, so that nothing is lost with a process. */

const PHASES = ['implementation', 'review', 'verification', 'watchdog', 'merge'] as const;
export type LoopPhase = (typeof PHASES)[number];

export interface PhaseRecord {
  readonly phase: LoopPhase;
  /** Counted for each phase of the run, from 1. */
  readonly attempt: number;
  readonly ok: boolean;
}

export const isPhase = (name: unknown): name is LoopPhase => (PHASES as readonly unknown[]).includes(name);

/** The number of the next attempt at a phase: the highest one so far, and one more. */
export function nextAttempt(records: readonly PhaseRecord[], phase: LoopPhase): number {
  return 1 + records.reduce((most, record) => (record.phase === phase ? Math.max(most, record.attempt) : most), 0);
}

/** How often in a row a phase has failed last. Other phases between its attempts do not count. */
export function failuresInARow(records: readonly PhaseRecord[], phase: LoopPhase): number {
  let count = 0;
  for (const record of records.toReversed()) {
    if (record.phase !== phase) continue;
    if (record.ok) break;
    count++;
  }
  return count;
}

/** Whether so many failures in a row end the run; 0 is no bound. */
export const isBeyond = (failures: number, most: number): boolean => most > 0 && failures >= most;

export function iterationsOf(records: readonly PhaseRecord[]): number {
  return records.filter(({ phase }) => phase === 'implementation').length;
}

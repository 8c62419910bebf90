/** Figures of one part of a scene, per task. */
export interface PathFigures {
  readonly rate: number;
  /** Of the process, all of its threads. */
  readonly cpuMicros: number;
  readonly statements?: number;
  readonly commits?: number;
  readonly walBytes?: number;
}

/** The first tasks of a process, which pay for compiled code, threads and caches. */
export const COLD_TASKS = 10_000;

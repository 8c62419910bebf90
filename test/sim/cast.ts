import { checkHistory, type FinalLook } from './checker.ts';
import { useIt } from './clients.ts';
import { manage, rage, readFeed, regulate, schedule, tidy } from './nature.ts';
import { drawPlan, type Plan } from './plan.ts';
import type { SimProcess } from './process.ts';
import type { Rng } from './rng.ts';
import type { Run } from './run.ts';
import { work } from './worker.ts';

/** Who lives in a cluster besides its duties, and what is asked of it in the end. */
export interface Cast {
  plan(rng: Rng): Plan;
  /** After the faults end, everything must be finished within this many steps. */
  readonly healingSteps: number;
  /** Lives and dies with its process. */
  work(run: Run, process: SimProcess): Promise<void>;
  /** Those that outlive processes. Called once, before the first step. */
  enter(run: Run): readonly Promise<void>[];
  /** After the faults. */
  tidy(run: Run): Promise<void>;
  /** A commit that the model has judged. */
  committed?(run: Run, verb: string, params: unknown, answer: unknown): void;
  /** What is to be done still comes, although no task is unfinished. */
  busy?(): boolean;
  judge(run: Run, final: FinalLook): void;
}

/** Tasks of all kinds, with handlers that do what the seed says. */
export const TASKS: Cast = {
  plan: drawPlan,
  healingSteps: 40_000,
  work,
  enter: (run) => [
    ...Array.from({ length: run.plan.clients }, (_, i) => useIt(run, `client${i + 1}`)),
    readFeed(run),
    schedule(run),
    regulate(run),
    manage(run),
    rage(run),
  ],
  tidy,
  judge: ({ history }, final) => checkHistory(history, final),
};

import type { Contender, Counts } from '../contenders/contender.ts';
import type { DrainResult } from '../jobs/drain.ts';
import { distinct } from '../jobs/tally.ts';
import { Child, finish, go, run } from '../processes.ts';
import type { World } from './measure.ts';

export interface DrainOptions {
  readonly tasks: number;
  readonly processes: number;
  /** The first tasks of these processes; default: they have worked some off elsewhere. */
  readonly cold?: boolean;
  /** Finished tasks in the place. */
  readonly before?: number;
  /** What goes on beside the drain, from after the pushes to the end. */
  readonly beside?: (place: string) => Promise<() => Promise<void>>;
}

export interface Drained {
  readonly perSecond: number;
  /** CPU of the processes and of the server, per task. */
  readonly cpuMicros: number;
  readonly serverMicros: number;
  readonly rssMb: number;
}

/** Pushes tasks (not measured), drains them, and makes sure that each was done exactly once. */
export async function drained(
  { ground }: World,
  contender: Contender,
  place: string,
  { tasks, processes, cold = false, before = 0, beside }: DrainOptions,
): Promise<Drained> {
  await run(contender, 'seed', place, { tasks }, tasks);
  await ground.analyze(place);
  const end = await beside?.(place);
  const children = Array.from(
    { length: processes },
    () => new Child(contender, cold ? 'coldDrain' : 'drain', place, { total: tasks }, tasks),
  );
  await go(children);
  const serverBefore = ground.serverMicros();
  const results = await finish(children, tasks);
  const serverMicros = (ground.serverMicros() - serverBefore) / tasks;
  await end?.();
  // Not by the processes themselves: one may be through while the last completions of another are not committed yet.
  const counts = await run(contender, 'count', place, {}, before);
  checkOnce(results, tasks, counts, contender.keepsFinished === false ? 0 : before + tasks);
  const seconds =
    (Math.max(...results.map(({ lastAt }) => lastAt)) - Math.min(...results.map(({ firstAt }) => firstAt))) / 1e6;
  return {
    perSecond: tasks / seconds,
    cpuMicros: sum(results, ({ cpuMicros }) => cpuMicros) / tasks + serverMicros,
    serverMicros,
    rssMb: Math.max(...results.map(({ rssMb }) => rssMb)),
  };
}

/** Every task was executed, none of them twice, and the store says the same. */
function checkOnce(results: readonly DrainResult[], tasks: number, counts: Counts, finished: number): void {
  const executions = sum(results, (result) => result.executions);
  const different = distinct(results.map(({ tally }) => tally));
  if (executions === tasks && different === tasks && counts.unfinished === 0 && counts.finished === finished) return;
  throw new Error(
    `${tasks} tasks, ${executions} executions of ${different} different ones; stored: ${JSON.stringify(counts)} where ${finished} should be finished`,
  );
}

function sum(results: readonly DrainResult[], of: (result: DrainResult) => number): number {
  return results.reduce((total, result) => total + of(result), 0);
}

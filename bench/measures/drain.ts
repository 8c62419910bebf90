/** How fast waiting no-op tasks are worked off by one process and by four on one file, and what that costs. */
import type { Contender } from '../contenders/contender.ts';
import { Child, finish, go, run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const rows = {
  one: { label: 'drain, 1 process', key: 'drain 1', unit: '/s', ratio: 'reference' },
  four: { label: 'drain, 4 processes', key: 'drain 4', unit: '/s', ratio: 'reference' },
  cpuOne: { label: 'CPU per task, 1 process', key: 'cpu 1', unit: 'µs', ratio: 'reference' },
  cpuFour: { label: 'CPU per task, 4 processes', key: 'cpu 4', unit: 'µs', ratio: 'reference' },
  rss: { label: 'memory (RSS) after a drain', key: 'rss busy', unit: 'MB' },
} as const satisfies Record<string, Row>;

export const drain: Measure = {
  name: 'drain',
  rows: Object.values(rows),
  async round(world: World, contender: Contender) {
    const tasks = world.quick ? contender.drainTasks / 4 : contender.drainTasks;
    const one = await drained(contender, world.fresh(), { tasks, processes: 1 });
    world.record(contender, rows.one, one.perSecond);
    world.record(contender, rows.cpuOne, one.cpuMicros);
    world.record(contender, rows.rss, one.rssMb);
    const four = await drained(contender, world.fresh(), { tasks, processes: 4 });
    world.record(contender, rows.four, four.perSecond);
    world.record(contender, rows.cpuFour, four.cpuMicros);
  },
};

interface Drained {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly rssMb: number;
}

/** Pushes tasks (not measured), drains them, and makes sure that each was done exactly once. `before`: finished tasks in the file. */
export async function drained(
  contender: Contender,
  file: string,
  { tasks, processes, before = 0 }: { readonly tasks: number; readonly processes: number; readonly before?: number },
): Promise<Drained> {
  await run(contender, 'seed', file, { tasks, finished: 0 });
  const children = Array.from({ length: processes }, () => new Child(contender, 'drain', file, { total: tasks }));
  const startAt = await go(children);
  const results = await finish(children, tasks);
  const sum = (of: (result: (typeof results)[number]) => number): number =>
    results.reduce((n, result) => n + of(result), 0);
  const executions = sum((result) => result.executions);
  const wrong = results.find(({ counts }) => counts.unfinished !== 0 || counts.finished !== before + tasks);
  if (executions !== tasks || wrong) {
    const stored = JSON.stringify(wrong?.counts ?? 'as expected');
    throw new Error(
      `${contender.name}: ${tasks} tasks, ${executions} executions, store: ${stored} (${before} finished before)`,
    );
  }
  const seconds = (Math.max(...results.map(({ lastAt }) => lastAt)) - startAt) / 1e6;
  return {
    perSecond: tasks / seconds,
    cpuMicros: sum(({ cpuMicros }) => cpuMicros) / tasks,
    rssMb: Math.max(...results.map(({ rssMb }) => rssMb)),
  };
}

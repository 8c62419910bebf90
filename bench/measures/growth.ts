/** Whether finished tasks behind slow a drain down: the same drain on an empty file and on files that keep 1 k to 1 M. */
import type { Contender } from '../contenders/contender.ts';
import { PEER, REFERENCE } from '../contenders/sqlite/index.ts';
import { run } from '../processes.ts';
import { ENGINE } from '../targets/target.ts';
import { drained } from './drained.ts';
import type { Measure, Row, World } from './measure.ts';

interface Size {
  readonly finished: number;
  readonly rate: Row;
  readonly cpu: Row;
}

const size = (finished: number, label: string): Size => ({
  finished,
  rate: { label: `drain, ${label}`, key: `growth ${finished}`, unit: '/s', ratio: { own: 'growth 0' } },
  cpu: { label: `CPU per task, ${label}`, key: `growth cpu ${finished}`, unit: 'µs', ratio: { own: 'growth cpu 0' } },
});

const EMPTY = size(0, 'empty file');
const THOUSAND = size(1_000, '1 k finished behind (× own empty)');
const HUNDRED_THOUSAND = size(100_000, '100 k finished behind (× own empty)');
const MILLION = size(1_000_000, '1 M finished behind (× own empty)');

/** The two ends alternate, three pairs a round: what drifts (caches, write-back, other work) then meets both alike. */
const FULL = [EMPTY, THOUSAND, HUNDRED_THOUSAND, MILLION, MILLION, EMPTY, EMPTY, MILLION];
const QUICK = [EMPTY, THOUSAND, HUNDRED_THOUSAND];

/** Finished tasks by file: the files last, so those of earlier drains stay behind too. */
const behind = new Map<string, number>();

export const growth: Measure = {
  name: 'growth',
  // The library has its own in the suite of the user's path.
  only: [ENGINE, PEER, REFERENCE],
  rows: [EMPTY.rate, THOUSAND.rate, HUNDRED_THOUSAND.rate, MILLION.rate, MILLION.cpu],
  async round(world: World, contender: Contender) {
    const tasks = contender.drainTasks / (world.quick ? 4 : 1);
    for (const { finished, rate, cpu } of world.quick ? QUICK : FULL) {
      const file = await (finished === 0 ? world.fresh() : world.lasting(`${contender.name} ${finished}`));
      const before = behind.get(file) ?? finished;
      if (!behind.has(file)) await run(contender, 'seed', file, { finished, tasks: 0 });
      const { perSecond, cpuMicros } = await drained(world, contender, file, { tasks, processes: 1, before });
      if (finished > 0) behind.set(file, before + tasks);
      world.record(contender, rate, perSecond);
      world.record(contender, cpu, cpuMicros);
    }
  },
};

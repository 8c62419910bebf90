/** Whether everything else in a busy process gets its turn: how late a timer is while tasks come and go at full speed. */
import type { Contender } from '../contenders/contender.ts';
import { run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const MS = 3000;

const late = { key: 'timer', unit: 'ms' } as const;
const rate: Row = { label: 'pushed and finished meanwhile', key: 'timer rate', unit: '/s' };

export const timer: Measure = {
  name: 'timer',
  // The others push in the turn of the caller: nothing else gets one then, and it would say nothing about them.
  only: ['leasehold', 'library'],
  rows: [
    { ...late, label: 'lateness of a 10 ms timer under load, p99', percentile: 99 },
    { ...late, label: 'lateness of a 10 ms timer under load, greatest', percentile: 100 },
    rate,
  ],
  async round(world: World, contender: Contender) {
    const { late: samples, perSecond } = await run(contender, 'timer', await world.fresh(), {
      ms: world.quick ? MS / 3 : MS,
    });
    world.samples(contender, late.key, samples);
    world.record(contender, rate, perSecond);
  },
};

/** Whether an old snapshot, which keeps dead rows from being removed, slows a long drain down. */
import type { Contender } from '../contenders/contender.ts';
import { drained } from './drained.ts';
import type { Measure, Row, World } from './measure.ts';

const TASKS = 150_000;

const without: Row = { label: 'drain of 150 k', key: 'snapshot no', unit: '/s' };
const held: Row = {
  label: 'drain of 150 k, old snapshot held (× own without)',
  key: 'snapshot held',
  unit: '/s',
  ratio: { own: without.key },
};

export const snapshot: Measure = {
  name: 'snapshot',
  rows: [without, held],
  async round(world: World, contender: Contender) {
    const options = { tasks: world.quick ? TASKS / 10 : TASKS, processes: 1 };
    const free = await drained(world, contender, await world.fresh(), options);
    world.record(contender, without, free.perSecond);
    const beside = (place: string): Promise<() => Promise<void>> => world.ground.holdSnapshot(place);
    const bound = await drained(world, contender, await world.fresh(), { ...options, beside });
    world.record(contender, held, bound.perSecond);
  },
};

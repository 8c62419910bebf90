/** From the call of `push` in one process to the handler in another: the first 100 tasks of both, at about 50 a second. */
import type { Contender } from '../contenders/contender.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { Child, finish, go, run } from '../processes.ts';

const FIRST = 100;
const EVERY_MS = 20;
const KEY = 'latency';

const WORST: Row = {
  label: `push to start across processes, worst of the first ${FIRST}`,
  key: 'latency worst',
  unit: 'ms',
};

export const latency: Measure = {
  name: 'latency',
  rows: [
    ...[50, 95, 99].map(
      (percentile): Row => ({
        label: `push to start across processes, p${percentile}`,
        key: KEY,
        unit: 'ms',
        percentile,
      }),
    ),
    WORST,
  ],
  async round(world: World, contender: Contender) {
    const args = { pushes: FIRST, everyMs: EVERY_MS, skip: 0 };
    const place = await world.fresh();
    await run(contender, 'seed', place, { tasks: 0 });
    const receivers = [new Child(contender, 'coldReceive', place, args)];
    await go(receivers);
    await run(contender, 'coldSend', place, args);
    const samples = (await finish(receivers, FIRST)).flat();
    world.samples(contender, KEY, samples);
    world.record(contender, WORST, Math.max(...samples));
  },
};

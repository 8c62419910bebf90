/** How long after the call of `push` the handler starts, at about 50 pushes a second, in one process and across two. */
import type { Contender } from '../contenders/contender.ts';
import { WARM } from '../jobs/latency.ts';
import { Child, finish, go, run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const SECONDS = 2;
const PER_SECOND = 50;

const places = [
  { key: 'latency 1', label: 'in one process' },
  { key: 'latency 2', label: 'across two processes' },
] as const;

export const latency: Measure = {
  name: 'latency',
  rows: places.flatMap(({ key, label }) =>
    [50, 95, 99].map(
      (percentile): Row => ({ label: `push to start ${label}, p${percentile}`, key, unit: 'ms', percentile }),
    ),
  ),
  async round(world: World, contender: Contender) {
    const args = { pushes: (PER_SECOND * SECONDS) / (world.quick ? 2 : 1), everyMs: 1000 / PER_SECOND };
    const total = args.pushes + WARM;

    const alone = [new Child(contender, 'echo', world.fresh(), args)];
    await go(alone);
    world.samples(contender, places[0].key, (await finish(alone, total)).flat());

    const file = world.fresh();
    const receivers = [new Child(contender, 'receive', file, args)];
    await go(receivers);
    await run(contender, 'send', file, args);
    world.samples(contender, places[1].key, (await finish(receivers, total)).flat());
  },
};

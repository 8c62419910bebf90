/** How long after the call of `push` the handler starts, at about 50 pushes a second, in one process and across two. */
import type { Contender } from '../contenders/contender.ts';
import { WARM } from '../jobs/latency.ts';
import { Child, finish, go, run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const PER_SECOND = 50;

const ALONE = { key: 'latency 1', label: 'in one process' } as const;
const ACROSS = { key: 'latency 2', label: 'across two processes' } as const;

export interface LatencyOptions {
  readonly seconds: number;
  /** Whether it is also measured in one process. */
  readonly alone: boolean;
}

export function latency({ seconds, alone }: LatencyOptions): Measure {
  return {
    name: 'latency',
    rows: (alone ? [ALONE, ACROSS] : [ACROSS]).flatMap(({ key, label }) =>
      [50, 95, 99].map(
        (percentile): Row => ({ label: `push to start ${label}, p${percentile}`, key, unit: 'ms', percentile }),
      ),
    ),
    async round(world: World, contender: Contender) {
      const args = { pushes: (PER_SECOND * seconds) / (world.quick ? 2 : 1), everyMs: 1000 / PER_SECOND };
      const total = args.pushes + WARM;
      if (alone) {
        const both = [new Child(contender, 'echo', await world.fresh(), args)];
        await go(both);
        world.samples(contender, ALONE.key, (await finish(both, total)).flat());
      }
      const place = await world.fresh();
      const receivers = [new Child(contender, 'receive', place, args)];
      await go(receivers);
      await run(contender, 'send', place, args);
      world.samples(contender, ACROSS.key, (await finish(receivers, total)).flat());
    },
  };
}

/** How long after the call of `push`, in another process, the handler starts: behind a node and beside the store. */
import type { Contender } from '../contenders/contender.ts';
import { DIRECT, HUB } from '../contenders/hub/index.ts';
import { latency as across } from '../measures/latency.ts';
import type { Measure, World } from '../measures/measure.ts';
import { NodeProcess } from './node.ts';

const measure = across({ seconds: 8, alone: false });

/** The same measure as that of the other suites, with a node in the place of those who need one. */
export const latency: Measure = {
  ...measure,
  only: [HUB, DIRECT],
  async round(world: World, contender: Contender) {
    let node: NodeProcess | undefined;
    const fresh = async (): Promise<string> => {
      const place = await world.fresh();
      if (contender.name !== HUB) return place;
      node = await NodeProcess.start(place);
      return node.in(place);
    };
    await measure.round({ ...world, fresh }, contender);
    await node?.kill();
  },
};

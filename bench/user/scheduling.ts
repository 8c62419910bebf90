/** What limits that do not bind and 10,000 lanes cost a drain of the library. */
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import { drained } from '../measures/drained.ts';
import type { Measure, Row, World } from '../measures/measure.ts';

const row = (key: string, label: string): Row => ({ label: `drain, ${label}`, key, unit: '/s' });

const NONE = row('lane 1', 'one lane, no limit');
const LIMIT = row('limit', 'one lane, a limit that does not bind');
const LANES = row('lanes', '10,000 lanes');

/** Two pairs a round: five rounds are ten pairs. */
const ORDER = [NONE, LIMIT, LANES, LIMIT, NONE];

/** The library with other words at its pushes. */
export interface Variants {
  readonly limited: Contender;
  readonly lanes: Contender;
}

export function scheduling({ limited, lanes }: Variants): Measure {
  return {
    name: 'scheduling',
    rows: [NONE, LIMIT, LANES],
    only: [LIBRARY],
    async round(world: World, contender: Contender) {
      const tasks = contender.drainTasks / (world.quick ? 10 : 1);
      for (const one of ORDER) {
        const variant = one === LIMIT ? limited : one === LANES ? lanes : contender;
        const { perSecond } = await drained(world, variant, await world.fresh(), { tasks, processes: 1 });
        world.record(contender, one, perSecond);
      }
    },
  };
}

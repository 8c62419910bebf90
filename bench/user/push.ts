/** Single pushes: the first of a process, and those of one that has run for a while. */
import type { Contender } from '../contenders/contender.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { Child, go, run } from '../processes.ts';

/** Of the "cold": by then most code has run, and little of it is compiled. */
const COLD_PUSHES = 500;
const MS = 700;

const rows = {
  cold: { label: `push, 1 caller, the first ${COLD_PUSHES}`, key: 'push cold', unit: '/s', ratio: 'reference' },
  one: { label: 'push, 1 caller, warm', key: 'push 1', unit: '/s', ratio: 'reference' },
  sixteen: { label: 'push, 16 callers, warm', key: 'push 16', unit: '/s', ratio: 'reference' },
} as const satisfies Record<string, Row>;

export function push(only: readonly string[]): Measure {
  return {
    name: 'push',
    rows: Object.values(rows),
    only,
    async round(world: World, contender: Contender) {
      const ms = world.quick ? MS / 4 : MS;
      const cold = (place: string) => new Child(contender, 'coldPush', place, { pushes: COLD_PUSHES });
      const warm = (callers: number) => (place: string) => new Child(contender, 'push', place, { callers, ms });
      world.record(contender, rows.cold, await pushed(world, contender, cold));
      world.record(contender, rows.one, await pushed(world, contender, warm(1)));
      world.record(contender, rows.sixteen, await pushed(world, contender, warm(16)));
    },
  };
}

/** Each acknowledged push must be there afterwards. */
async function pushed(
  world: World,
  contender: Contender,
  start: (place: string) => Child<'push'> | Child<'coldPush'>,
): Promise<number> {
  const place = await world.fresh();
  await run(contender, 'seed', place, { tasks: 0 }); // the tables are there already, as a user's are
  const child = start(place);
  await go([child]);
  const { perSecond, acknowledged } = await child.result;
  const { unfinished } = await run(contender, 'count', place, {});
  if (unfinished !== acknowledged) throw new Error(`${acknowledged} pushes acknowledged, ${unfinished} stored`);
  return perSecond;
}

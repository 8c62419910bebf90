/** Whether what lies behind and beside slows a drain down: 1 M finished tasks, then 1 M more that wait in another queue. */
import type { Contender } from '../contenders/contender.ts';
import { run } from '../processes.ts';
import { drained } from './drained.ts';
import type { Measure, Row, World } from './measure.ts';

const MILLION = 1_000_000;

const row = (key: string, label: string): Row => ({
  label: `drain, ${label}`,
  key,
  unit: '/s',
  ratio: { own: 'growth 0' },
});

const EMPTY = row('growth 0', 'empty database');
const FINISHED = row('growth finished', '1 M finished behind (× own empty)');
const PENDING = row('growth pending', '1 M finished behind, 1 M pending besides (× own empty)');

/** There and back again: what drifts (caches, write-back, other work) then meets all of them alike. */
const ONCE = [EMPTY, FINISHED, PENDING];

/** Finished tasks by database: the databases last, so those of earlier drains stay behind too. */
const behind = new Map<string, number>();

export const backlog = (only: readonly string[]): Measure => ({
  name: 'growth',
  only,
  rows: [EMPTY, FINISHED, PENDING],
  rounds: 3,
  async round(world: World, contender: Contender) {
    const tasks = contender.drainTasks / (world.quick ? 4 : 1);
    for (const row of world.quick ? ONCE : [...ONCE, ...ONCE.toReversed()]) {
      if (row === FINISHED && contender.keepsFinished === false) continue;
      const place = row === EMPTY ? await world.fresh() : await filled(world, contender, row);
      const before = behind.get(place) ?? 0;
      const { perSecond } = await drained(world, contender, place, { tasks, processes: 1, before });
      behind.set(place, before + tasks);
      world.record(contender, row, perSecond);
    }
  },
});

/** Its database, made at the first use: what is finished is worked off as all tasks are, what is besides is pushed to a copy. */
async function filled(world: World, contender: Contender, row: Row): Promise<string> {
  const count = world.quick ? MILLION / 20 : MILLION;
  const name = `${contender.name} ${row.key}`;
  const like =
    row === PENDING && contender.keepsFinished !== false ? await filled(world, contender, FINISHED) : undefined;
  const place = await world.lasting(name, like);
  if (behind.has(place)) return place;
  behind.set(place, like === undefined ? 0 : (behind.get(like) ?? 0));
  world.say(`making the database for: ${row.label}`);
  if (row === FINISHED) {
    if (contender.seedsFinished) await run(contender, 'seed', place, { tasks: 0, finished: count }, count);
    else await drained(world, contender, place, { tasks: count, processes: 1 });
    behind.set(place, count);
  } else await run(contender, 'seed', place, { tasks: 0, aside: count }, count);
  await world.ground.vacuum(place);
  return place;
}

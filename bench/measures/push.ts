/** How fast tasks get in: one by one, from many callers at once, from many processes, in bulk. */
import type { Contender } from '../contenders/contender.ts';
import type { PushArgs } from '../jobs/push.ts';
import { Child, go, run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

export interface PushKind {
  readonly key: string;
  readonly label: string;
  readonly callers: PushArgs['callers'];
  readonly processes?: number;
}

export const MANY_CALLERS: PushKind = { key: 'push 256', label: 'push, 256 callers', callers: 256 };
export const MANY_PROCESSES: PushKind = {
  key: 'push 8x2',
  label: 'push, 8 processes × 2 callers',
  callers: 2,
  processes: 8,
};

/** A process: eight of them share the cores, and all have to compile their code first. */
const MS = 700;

export function push(many: PushKind): Measure {
  const kinds: readonly PushKind[] = [
    { key: 'push 1', label: 'push, 1 caller', callers: 1 },
    { key: 'push 16', label: 'push, 16 callers', callers: 16 },
    many,
    { key: 'push bulk', label: 'push, bulk of 1000', callers: 'bulk' },
  ];
  const row = ({ key, label }: PushKind): Row => ({ label, key, unit: '/s', ratio: 'reference' });
  return {
    name: 'push',
    rows: kinds.map(row),
    async round(world: World, contender: Contender) {
      for (const kind of kinds) world.record(contender, row(kind), await pushed(world, contender, kind));
    },
  };
}

/** Pushes a second over all processes; each acknowledged push must be there afterwards. */
async function pushed(world: World, contender: Contender, { callers, processes = 1 }: PushKind): Promise<number> {
  const place = await world.fresh();
  if (processes > 1) await run(contender, 'seed', place, { tasks: 0 }); // so that they need not all create the tables
  const args = { callers, ms: (world.quick ? MS / 4 : MS) * processes };
  const children = Array.from({ length: processes }, () => new Child(contender, 'push', place, args));
  await go(children);
  const results = await Promise.all(children.map(({ result }) => result));
  const acknowledged = results.reduce((sum, result) => sum + result.acknowledged, 0);
  const { unfinished } = await run(contender, 'count', place, {});
  if (unfinished !== acknowledged) throw new Error(`${acknowledged} pushes acknowledged, ${unfinished} stored`);
  return results.reduce((sum, { perSecond }) => sum + perSecond, 0);
}

/** How fast tasks get in: one by one, from many callers at once, in bulk. */
import type { Contender } from '../contenders/contender.ts';
import { run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const MS = 700;

const kinds = [
  { callers: 1, label: 'push, 1 caller' },
  { callers: 16, label: 'push, 16 callers' },
  { callers: 256, label: 'push, 256 callers' },
  { callers: 'bulk', label: 'push, bulk of 1000' },
] as const;

const row = ({ callers, label }: (typeof kinds)[number]): Row => ({
  label,
  key: `push ${callers}`,
  unit: '/s',
  ratio: 'reference',
});

export const push: Measure = {
  name: 'push',
  rows: kinds.map(row),
  async round(world: World, contender: Contender) {
    for (const kind of kinds) {
      const args = { callers: kind.callers, ms: world.quick ? MS / 4 : MS };
      const { perSecond } = await run(contender, 'push', world.fresh(), args);
      world.record(contender, row(kind), perSecond);
    }
  },
};

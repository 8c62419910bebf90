/** Work pools of `leasehold/compat`, four processes on one file, against a loop written by hand. */
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { Child, go, run } from '../processes.ts';

const PROCESSES = 4;
const WARM = 300;

interface Case {
  readonly row: Row;
  readonly flight: number;
  readonly items: number;
}

const ONE: Case = {
  row: { label: 'work pool, 4 processes, one item at a time', key: 'work 1', unit: '/s' },
  flight: 1,
  items: 4000,
};
const MANY: Case = {
  row: { label: 'work pool, 4 processes, 16 claims in flight each', key: 'work 16', unit: '/s' },
  flight: 16,
  items: 20_000,
};

/** `hand`: the contender in whose column the loop by hand stands. */
export function work(hand: string): Measure {
  return {
    name: 'work',
    rows: [ONE.row, MANY.row],
    only: [LIBRARY, hand],
    async round(world: World, contender: Contender) {
      for (const { row, flight, items: all } of contender.name === LIBRARY ? [ONE, MANY] : [ONE]) {
        const items = all / (world.quick ? 10 : 1);
        const job = contender.name === LIBRARY ? 'workLoop' : 'handLoop';
        const place = await world.fresh();
        await run(contender, job, place, { seed: items + PROCESSES * WARM, flight, warm: 0 }, items);
        const args = { flight, warm: WARM };
        const children = Array.from({ length: PROCESSES }, () => new Child(contender, job, place, args, 10 * items));
        const from = await go(children);
        const results = await Promise.all(children.map(({ result }) => result));
        const done = results.reduce((sum, result) => sum + result.done, 0);
        // Loops in flight may each have taken one more to warm up.
        if (done > items || done < items - PROCESSES * flight) throw new Error(`${done} of ${items} items`);
        world.record(contender, row, done / ((Math.max(...results.map(({ lastAt }) => lastAt)) - from) / 1e6));
      }
    },
  };
}

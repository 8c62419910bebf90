import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Allowance,
  type BudgetLevel,
  budgetChannel,
  budgetKey,
  isCut,
  isSoft,
  leave,
  MAX_AMOUNT,
  type Metered,
  type Metering,
  meter,
  type Spending,
  UNITS,
  type Unit,
} from './budget.ts';

const budget = (taken: number, hard?: number, soft?: number): ReadonlyMap<Unit, BudgetLevel> =>
  new Map([['tokens', { taken, hard, soft }]]);
const has = (granted: number, spent: number, reserved: number): ReadonlyMap<Unit, Allowance> =>
  new Map([['tokens', { granted, spent, reserved }]]);
const draw = (amount: number, unit: Unit = 'tokens'): Metering => ({ draw: [{ unit, amount }] });
const spend = (amount: number, drawn?: number): Spending => ({ unit: 'tokens', amount, drawn });

function shown({ allowances, taken, short }: Metered): string {
  const parts = [...allowances].map(
    ([unit, { granted, spent, reserved }]) => `${unit} ${granted}/${spent}/${reserved} ${taken.get(unit) ?? 0}`,
  );
  return [...parts, ...(short === undefined ? [] : [`short of ${short}`])].join(', ');
}

test('units are stored by their positions', () => {
  assert.deepEqual(UNITS, ['tokens', 'money', 'ms', 'calls']);
  assert.equal(budgetChannel(42), 'budget:42');
  assert.equal(budgetKey('ms'), 'budget:ms');
});

test('a draw goes up to the hard bound, and not beyond', () => {
  assert.equal(shown(meter(budget(0, 10), new Map(), draw(9))), 'tokens 9/0/9 9');
  assert.equal(shown(meter(budget(0, 10), new Map(), draw(10))), 'tokens 10/0/10 10');
  assert.equal(shown(meter(budget(0, 10), new Map(), draw(11))), 'short of tokens');
  assert.equal(shown(meter(budget(4, 10), new Map(), draw(7))), 'short of tokens');
  assert.equal(shown(meter(budget(12, 10), new Map(), draw(1))), 'short of tokens', 'it was lowered');
});

test('an allowance that is short gets a share of what is left, but at most 16 times what it is short of', () => {
  assert.equal(shown(meter(budget(0, 256 * 5), new Map(), draw(1))), 'tokens 5/0/1 5');
  assert.equal(shown(meter(budget(0, 256 * 500), new Map(), draw(1))), 'tokens 16/0/1 16');
  assert.equal(shown(meter(budget(0), new Map(), draw(3))), 'tokens 48/0/3 48', 'without a hard bound');
  assert.equal(shown(meter(budget(48, 1000), has(48, 3, 0), draw(45))), 'tokens 48/3/45 0', 'it has enough');
  assert.equal(shown(meter(budget(48, 1000), has(48, 3, 40), draw(10))), 'tokens 53/3/50 5');
});

test('units without a budget are free, and so is nothing', () => {
  assert.equal(shown(meter(budget(0, 10), new Map(), draw(99, 'money'))), '');
  assert.equal(shown(meter(new Map(), new Map(), { spend: [spend(5)] })), '');
  assert.equal(shown(meter(budget(0, 10), new Map(), draw(0))), '');
  assert.equal(shown(meter(budget(0, 10), new Map(), {})), '');
});

test('what was spent settles what was drawn for it', () => {
  assert.equal(shown(meter(budget(20, 100), has(20, 0, 10), { spend: [spend(6)] })), 'tokens 20/6/0 0');
  assert.equal(shown(meter(budget(20, 100), has(20, 0, 20), { spend: [spend(6, 10)] })), 'tokens 20/6/10 0');
  assert.equal(shown(meter(budget(20, 100), has(20, 0, 10), { spend: [spend(0)] })), 'tokens 20/0/0 0');
  assert.equal(shown(meter(budget(20, 100), has(20, 0, 10), { spend: [spend(2, 5), spend(3, 5)] })), 'tokens 20/5/0 0');
});

test('a cost beyond what was drawn is counted, even beyond the hard bound', () => {
  assert.equal(shown(meter(budget(10, 10), has(10, 0, 10), { spend: [spend(13)] })), 'tokens 13/13/0 3');
  assert.equal(
    shown(meter(budget(0, 10), new Map(), { spend: [spend(13)] })),
    'tokens 13/13/0 13',
    'nothing was drawn',
  );
  const both = { spend: [spend(13)], draw: [{ unit: 'tokens', amount: 1 }] } as const;
  assert.equal(shown(meter(budget(10, 13), has(10, 0, 10), both)), 'tokens 13/13/0 3, short of tokens');
  assert.equal(shown(meter(budget(10, 14), has(10, 0, 10), both)), 'tokens 14/13/1 4');
});

test('a draw that is refused in one unit draws in none, and gives back what is not spent', () => {
  const budgets = new Map<Unit, BudgetLevel>([
    ['tokens', { taken: 30, hard: 1000 }],
    ['calls', { taken: 1, hard: 1 }],
  ]);
  const both = {
    draw: [
      { unit: 'tokens', amount: 50 },
      { unit: 'calls', amount: 1 },
    ],
    spend: [spend(7)],
  } as const;
  assert.equal(shown(meter(budgets, has(30, 2, 10), both)), 'tokens 9/9/0 -21, short of calls');
});

test('a draw that is refused counts what is still drawn for other calls as spent', () => {
  assert.equal(
    shown(meter(budget(30, 35), has(30, 5, 20), { spend: [spend(3, 8)], ...draw(20) })),
    'tokens 20/20/0 -10, short of tokens',
  );
});

test('a task that leaves gives back what it has not spent; with a lost lease what it had drawn counts as spent', () => {
  assert.equal(shown(leave(has(30, 5, 10), false)), 'tokens 5/5/0 -25');
  assert.equal(shown(leave(has(30, 5, 10), true)), 'tokens 15/15/0 -15');
  assert.equal(shown(leave(has(5, 5, 0), true)), '', 'nothing is left');
});

test('no sum leaves the range of whole numbers', () => {
  const full = meter(budget(0), new Map(), { spend: [spend(MAX_AMOUNT), spend(MAX_AMOUNT)] });
  assert.equal(full.allowances.get('tokens')?.spent, MAX_AMOUNT);
  assert.equal(
    shown(meter(budget(0), new Map(), draw(MAX_AMOUNT))),
    `tokens ${MAX_AMOUNT}/0/${MAX_AMOUNT} ${MAX_AMOUNT}`,
  );
});

test('only who completes has heard of all its calls', () => {
  assert.deepEqual((['completed', 'failed', 'cancelled'] as const).map(isCut), [false, true, true]);
});

test('the soft bound is reached with its last unit', () => {
  assert.deepEqual(
    [79, 80, 81].map((taken) => isSoft({ taken, soft: 80 })),
    [false, true, true],
  );
  assert.equal(isSoft({ taken: 80 }), false);
});

test('taken is the sum of what is granted, and never above the hard bound, whatever tasks do', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const hard = 500;
  let taken = 0;
  const tasks: ReadonlyMap<Unit, Allowance>[] = Array.from({ length: 8 }, () => new Map());
  for (let step = 0; step < 5000; step++) {
    const i = random(tasks.length);
    const own = tasks[i] as ReadonlyMap<Unit, Allowance>;
    const { reserved = 0 } = own.get('tokens') ?? {};
    const done =
      random(4) === 0
        ? leave(own, random(2) === 0)
        : meter(budget(taken, hard), own, { spend: [spend(random(reserved + 1))], ...draw(random(9)) });
    taken += done.taken.get('tokens') ?? 0;
    tasks[i] = new Map([...own, ...done.allowances]);
    assert.equal(
      taken,
      tasks.reduce((sum, one) => sum + (one.get('tokens')?.granted ?? 0), 0),
    );
    assert.ok(taken <= hard, `${taken}`);
    for (const one of tasks) {
      const { granted, spent, reserved: kept } = one.get('tokens') ?? { granted: 0, spent: 0, reserved: 0 };
      assert.ok(granted >= spent + kept);
    }
  }
});

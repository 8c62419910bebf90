import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountText, boundOf, budgetParts } from './budget.ts';

test('amounts are short', () => {
  assert.deepEqual(
    [
      amountText('tokens', 950),
      amountText('tokens', 9500),
      amountText('tokens', 12_345),
      amountText('tokens', 2_000_000),
    ],
    ['950', '9,500', '12.3k', '2M'],
  );
  assert.deepEqual(
    [amountText('money', 0), amountText('money', 0.0042), amountText('money', 1.5)],
    ['$0', '$0.0042', '$1.50'],
  );
  assert.equal(amountText('ms', 65_000), '1m 05s');
});

test('the bar shows what is spent, then what is reserved, up to the hard bound', () => {
  assert.deepEqual(budgetParts({ hard: 100, soft: 80, taken: 75, spent: 50 }), {
    spent: 0.5,
    reserved: 0.25,
    soft: 0.8,
  });
  assert.deepEqual(budgetParts({ hard: 100, taken: 130, spent: 120 }), { spent: 1, reserved: 0 });
  assert.deepEqual(budgetParts({ taken: 0, spent: 0 }), { spent: 0, reserved: 0 });
});

test('a bound is a number, a time may be written as one, and nothing is no bound', () => {
  assert.deepEqual(
    [
      boundOf('tokens', '20,000'),
      boundOf('money', '$2.5'),
      boundOf('ms', '5m'),
      boundOf('ms', '90'),
      boundOf('calls', ' '),
    ],
    [20_000, 2.5, 300_000, 90, null],
  );
  assert.deepEqual([boundOf('tokens', 'many'), boundOf('tokens', '-1')], [undefined, undefined]);
});

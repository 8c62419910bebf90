import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeNewest } from './newest.ts';

interface Row {
  readonly n: number;
  readonly open?: boolean;
}
const rows = (...numbers: readonly number[]): Row[] => numbers.map((n) => ({ n }));
const merge = (kept: readonly Row[], read: readonly Row[]) =>
  mergeNewest(kept, read, { most: 4, settled: ({ open }) => open !== true });

test('what is read now replaces what was kept of it, and what is older stays', () => {
  assert.deepEqual(merge(rows(3, 2, 1), rows(4, 3)), rows(4, 3, 2, 1));
  assert.deepEqual(merge([{ n: 3, open: true }, { n: 2 }], rows(3)), rows(3, 2));
  assert.deepEqual(merge(rows(4, 3, 2, 1), rows(5, 4)), rows(5, 4, 3, 2), 'the most is kept');
  assert.deepEqual(merge([], rows(2, 1)), rows(2, 1));
  assert.deepEqual(merge([], []), []);
});

test('all is read again when something lies between, or an older one may have changed', () => {
  assert.equal(merge(rows(3, 2, 1), rows(9, 8)), undefined);
  assert.equal(merge([{ n: 3 }, { n: 2, open: true }], rows(4, 3)), undefined);
});

test('all is read again when the numbers begin anew, as for a thing that was removed and made again', () => {
  assert.equal(merge(rows(30, 29), rows(2, 1)), undefined);
  assert.equal(merge(rows(30, 29), []), undefined);
});

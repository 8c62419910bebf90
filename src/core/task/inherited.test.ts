import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INHERITED, inherits } from './inherited.ts';

test('an input carries a record only under its own name, at the top', () => {
  for (const input of [{ [INHERITED]: [] }, { a: 1, [INHERITED]: null }])
    assert.equal(inherits(JSON.stringify(input)), true);
  for (const input of [
    null,
    1,
    INHERITED,
    [INHERITED],
    [{ [INHERITED]: [] }],
    { a: { [INHERITED]: [] } },
    { a: INHERITED },
    {},
  ]) {
    assert.equal(inherits(JSON.stringify(input)), false, JSON.stringify(input));
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../expression/values.ts';
import { isWithin, textLength } from './text-length.ts';

const VALUES: readonly Value[] = [
  null,
  true,
  '',
  'abc',
  '\u0001\u0002"\\',
  -1.2345678901234e-300,
  [],
  {},
  [1, [2, ['x']]],
  { a: 1, 'b\n': { c: [null, 'd'] } },
  { gone: undefined, '': '' },
];

test('six times the length is never less than the JSON text', () => {
  for (const value of VALUES) {
    const text = JSON.stringify(value);
    assert.ok(textLength(value) * 6 >= text.length, text);
  }
});

test('a value is within a length exactly when its JSON text is', () => {
  for (const value of VALUES) {
    const { length } = JSON.stringify(value);
    assert.ok(isWithin(value, length));
    assert.ok(!isWithin(value, length - 1));
  }
});

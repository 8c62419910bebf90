import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idempotencyKey } from '../index.ts';

const key = (inputs: string, more: { task?: string; run?: number } = {}): string =>
  idempotencyKey({ task: 't', run: 1, inputs, ...more });

test('the key of work is stable, independent of the order of keys, and another one for other work', () => {
  assert.match(key('{}'), /^[0-9a-f]{64}$/);
  assert.equal(key('{"a":1,"b":[{"c":2,"d":3}]}'), key('{"b":[{"d":3,"c":2}],"a":1}'));
  const keys = [
    key('null'),
    key('{}'),
    key('{"a":1}'),
    key('{"a":2}'),
    key('{}', { task: 'u' }),
    key('{}', { run: 2 }),
  ];
  assert.equal(new Set(keys).size, keys.length);
  // Programs keep it: it must not change with a version of ours.
  assert.equal(key('{"b":[1,2],"a":null}'), EXPECTED);
});

const EXPECTED = '995cf35545ffee8334ccf18399e66e1e5c6eac47c53acb55c5a7ba62076e6da8';

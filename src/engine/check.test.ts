import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { checkLease, checkNames, checkOptions, checkWaitMs, whole } from './check.ts';

const invalid = (error: unknown): boolean => isEngineError(error, 'INVALID_INPUT');

test('whole numbers between the bounds pass, everything else is refused', () => {
  for (const fine of [1, 2, 10]) assert.equal(whole('n', fine, 1, 10), fine);
  for (const wrong of [0, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', 5n, null, undefined, [5]]) {
    assert.throws(() => whole('n', wrong, 1, 10), invalid, String(wrong));
  }
});

test('options are an object with known keys, inherited ones included', () => {
  const known = new Set(['a', 'b']);
  checkOptions('options', {}, known);
  checkOptions('options', { a: undefined, b: 1 }, known);
  checkOptions('options', Object.create({ a: 1 }), known);
  for (const wrong of [undefined, null, 1, 'a', [], () => ({})]) {
    assert.throws(() => checkOptions('options', wrong, known), invalid);
  }
  for (const wrong of [{ c: undefined }, Object.create({ c: 1 })] as object[]) {
    assert.throws(
      () => checkOptions('options', wrong, known),
      (error) => isEngineError(error, 'UNKNOWN_OPTION') && error.details?.known === 'a, b',
    );
  }
});

test('a lease may have more fields than its task and attempt', () => {
  checkLease({ task: 1, attempt: 0 });
  checkLease({ task: 2 ** 40, attempt: 7, lane: 3 } as never);
  assert.throws(() => checkLease({ task: 2 ** 53, attempt: 1 }), invalid);
  assert.throws(() => checkLease({ task: 1, attempt: 0.5 }), invalid);
});

test('no list of names lets all through, an empty list lets nothing through', () => {
  assert.equal(checkNames('queues', 'queue', undefined), undefined);
  assert.deepEqual(checkNames('queues', 'queue', []), new Set());
  assert.deepEqual(checkNames('handlers', 'handler', ['Mail:send']), new Set(['Mail:send']));
  assert.throws(() => checkNames('queues', 'queue', ['Mail:send']), invalid);
  assert.throws(() => checkNames('queues', 'queue', new Set(['mail'])), invalid);
  assert.throws(() => checkNames('queues', 'queue', null), invalid);
});

test('a wait may be a fraction of a millisecond or endless, and never negative', () => {
  for (const fine of [0, 0.5, 1000, Number.POSITIVE_INFINITY]) assert.equal(checkWaitMs(fine), fine);
  for (const wrong of [-1, Number.NaN, '1s', null]) assert.throws(() => checkWaitMs(wrong), invalid);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { encodePayload } from './payload.ts';
import { DEFAULT_REUSE_MS, logicalText, normalizeReuse, type ReuseInput } from './reuse.ts';

const ofInput = (input: unknown, handler = 'resize'): string => logicalText(handler, { payload: encodePayload(input) });

function refusal(input: unknown): readonly [field: unknown, message: string] {
  try {
    normalizeReuse(input as ReuseInput);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return [error.details?.field, error.message];
  }
  return assert.fail(`${JSON.stringify(input)} was accepted`);
}

test('the same handler and input have the same text, whatever the order of the keys', () => {
  assert.equal(ofInput({ a: 1, b: { c: [2, 3], d: null } }), ofInput({ b: { d: null, c: [2, 3] }, a: 1 }));
  assert.equal(logicalText('resize', { payload: '{"a": 1.0}' }), ofInput({ a: 1 }));
});

test('another handler or another input has another text', () => {
  const inputs = [null, {}, [], '', 0, false, [1, 2], [2, 1], { a: 1 }, { a: '1' }, { a: { b: 1 } }, 'null', '{}'];
  const texts = new Set(inputs.flatMap((input) => [ofInput(input), ofInput(input, 'crop')]));
  assert.equal(texts.size, 2 * inputs.length);
});

test('a key of the caller replaces the input, and is never mistaken for one', () => {
  assert.notEqual(logicalText('resize', { key: 'a' }), logicalText('resize', { key: 'b' }));
  assert.notEqual(logicalText('resize', { key: 'a' }), logicalText('crop', { key: 'a' }));
  for (const key of ['{"a":1}', '"a"', 'a', 'null']) {
    assert.notEqual(logicalText('resize', { key }), ofInput(key));
    assert.notEqual(logicalText('resize', { key }), ofInput({ a: 1 }));
  }
  // Not even where the end of one part could be the beginning of the next.
  assert.notEqual(logicalText('a', { key: 'b","c' }), logicalText('a","b', { key: 'c' }));
});

test('reuse is asked for by true, by an age, by a key or by both', () => {
  const day = { key: undefined, maxAgeMs: DEFAULT_REUSE_MS };
  assert.deepEqual(normalizeReuse(true), day);
  assert.deepEqual(normalizeReuse({}), day);
  assert.deepEqual(normalizeReuse({ key: undefined, maxAge: undefined }), day);
  assert.deepEqual(normalizeReuse('1h'), { key: undefined, maxAgeMs: 3_600_000 });
  assert.deepEqual(normalizeReuse(1), { key: undefined, maxAgeMs: 1 });
  assert.deepEqual(normalizeReuse({ key: 'order-7' }), { key: 'order-7', maxAgeMs: DEFAULT_REUSE_MS });
  assert.deepEqual(normalizeReuse({ key: 'order-7', maxAge: '5m' }), { key: 'order-7', maxAgeMs: 300_000 });
  assert.equal(normalizeReuse(false), undefined);
});

test('meaningless options are refused with their place', () => {
  for (const input of [null, [], () => {}, 1n]) assert.equal(refusal(input)[0], 'reuse');
  assert.match(refusal({ maxage: '1h' })[1], /"maxage" is not one of its keys key, maxAge/);
  for (const input of [0, '0s', -1, 0.5, 'soon', { maxAge: 0 }, { maxAge: 'x' }, { maxAge: true }]) {
    assert.equal(refusal(input)[0], 'reuse.maxAge', JSON.stringify(input));
  }
  for (const key of ['', 7, 'a\nb', 'x'.repeat(256)]) assert.equal(refusal({ key })[0], 'reuse.key');
});

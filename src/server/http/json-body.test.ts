import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scaled } from '../../../test/support/scale.ts';
import { isEngineError } from '../../core/errors.ts';
import { parseBody } from './json-body.ts';

const MOST = 72;

/** How deep a value is, by walking it. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function problemOf(text: string): string {
  try {
    parseBody(text);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return error.message;
  }
  return '';
}

const nested = (depth: number, inner = ''): string => '['.repeat(depth) + inner + ']'.repeat(depth);

test('as deep as is allowed is read, one deeper is refused, of arrays and of objects', () => {
  assert.equal(problemOf(nested(MOST)), '');
  assert.match(problemOf(nested(MOST + 1)), /more than 72 deep/);
  assert.equal(problemOf('{"a":'.repeat(MOST) + '1' + '}'.repeat(MOST)), '');
  assert.match(problemOf('{"a":'.repeat(MOST + 1) + '1' + '}'.repeat(MOST + 1)), /deep/);
});

test('what stands one beside the other is not deep, and a million open brackets cost no stack', () => {
  assert.equal(problemOf(`[${'[],'.repeat(10_000)}{}]`), '');
  assert.match(problemOf('['.repeat(1_000_000)), /deep/);
});

test('brackets in texts and in names of fields are not counted, whatever is escaped around them', () => {
  const hostile = ['['.repeat(200), '\\', '"', '\\"[[', '\\\\', '"}]', '\u2028[{', '\ud83d\ude00[', '\\u005b'];
  for (const text of hostile) {
    const value = { [text]: [text, { [text]: text }] };
    assert.deepEqual(parseBody(JSON.stringify(value)), value);
    assert.equal(problemOf(nested(MOST, JSON.stringify(text))), '', text);
    assert.match(problemOf(nested(MOST + 1, JSON.stringify(text))), /deep/, text);
  }
});

test('brackets that do not fit, and a text that never ends, are no JSON', () => {
  for (const text of [
    '',
    ']',
    `${']'.repeat(100)}${'['.repeat(100)}`,
    '"abc',
    '"\\',
    '{"a',
    'undefined',
    '1 2',
    'NaN',
  ]) {
    assert.match(problemOf(text), /not JSON/, text);
  }
});

test('any value is read as JSON.parse reads it, or refused for its depth', () => {
  const value = fc.jsonValue({ maxDepth: 100, noUnicodeString: false, depthSize: 'large' });
  fc.assert(
    fc.property(value, fc.nat(90), fc.constantFrom(0, 2), (inner, wraps, spaces) => {
      const whole = Array.from({ length: wraps }).reduce<unknown>((one, _, i) => (i % 2 ? [one] : { '[': one }), inner);
      const text = JSON.stringify(whole, undefined, spaces);
      if (depthOf(whole) > MOST) assert.match(problemOf(text), /deep/);
      else assert.deepEqual(parseBody(text), JSON.parse(text));
    }),
    { numRuns: scaled(100, 5000) },
  );
});

test('names that mean something to JavaScript are plain data and change nothing else', () => {
  const value = parseBody('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
  assert.equal((value as { polluted?: number }).polluted, undefined);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('a number that would become another one is refused, wherever it stands', () => {
  for (const number of [
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '1e400',
    '-1E999',
    '9'.repeat(500),
  ]) {
    for (const text of [number, `[${number}]`, `{"a":{"b":${number}}}`])
      assert.match(problemOf(text), /cannot be kept/, text);
    assert.equal(problemOf(JSON.stringify({ text: number, [number]: 1 })), '', 'as a text it is what it is');
  }
});

test('every number that a program of ours writes is read as it was', () => {
  const numbers = [0, -0, 1, 2 ** 53, 2 ** 60, 2 ** 63, -(2 ** 63), 1e21, 1e308, 5e-324, 0.1, Number.MAX_SAFE_INTEGER];
  for (const number of numbers) assert.equal(parseBody(JSON.stringify(number)), JSON.parse(JSON.stringify(number)));
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger())),
      (some) => {
        assert.deepEqual(parseBody(JSON.stringify(some)), JSON.parse(JSON.stringify(some)));
      },
    ),
    { numRuns: scaled(300, 10_000) },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from '../errors.ts';
import { inRange, parseRange } from './version.ts';

const within = (range: string, version: string | undefined): boolean => inRange(parseRange('version', range), version);

function refusal(text: unknown): string {
  try {
    parseRange('placement.version', text);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    assert.equal(error.details?.field, 'placement.version');
    return error.message;
  }
  return assert.fail(`${JSON.stringify(text)} was accepted`);
}

test('every part of a range must hold', () => {
  const versions = ['1.3.9', '1.4', '1.4.0', '1.10.2', 'v1.99.99', '2', '2.0.1'];
  assert.deepEqual(
    versions.filter((version) => within('>=1.4 <2', version)),
    ['1.4', '1.4.0', '1.10.2', 'v1.99.99'],
  );
  assert.deepEqual(
    versions.filter((version) => within('>1.4 <=2', version)),
    ['1.10.2', 'v1.99.99', '2'],
  );
});

test('a version without an operator means exactly that one, and missing parts are zero', () => {
  for (const range of ['1.4', '=1.4', '= v1.4.0', '1.4.0+build']) {
    assert.ok(within(range, '1.4.0'), range);
    assert.ok(!within(range, '1.4.1'), range);
  }
});

test('text after "-" or "+" does not count', () => {
  assert.ok(within('=2.0.0', '2.0.0-beta.1'));
  assert.ok(within('>=2-rc1', '2.0.0+b5'));
  assert.ok(!within('>2', '2.0.0-beta.1'));
});

test('an unknown or unreadable version is in no range', () => {
  for (const version of [undefined, '', 'latest', '1.x', '1.2.3.4', '1.', ' 1', '1'.repeat(10)]) {
    assert.ok(!within('>=0', version), version);
  }
});

test('white space around parts and after operators does not matter', () => {
  for (const range of ['  >=1.4   <2 ', '>= 1.4 < 2', '>=\t1.4\n<2']) {
    assert.deepEqual(parseRange('version', range), [
      { op: '>=', version: [1, 4, 0] },
      { op: '<', version: [2, 0, 0] },
    ]);
  }
});

test('versions are ordered by their numbers, the first that differs', () => {
  const version = fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: 0, max: 12 })));
  fc.assert(
    fc.property(version, version, (a, b) => {
      const [x, y] = [a, b].map(([major = 0, minor = 0, patch = 0]) => (major * 100 + minor) * 100 + patch) as [
        number,
        number,
      ];
      const truth = { '=': x === y, '>=': x >= y, '<=': x <= y, '>': x > y, '<': x < y };
      for (const [op, holds] of Object.entries(truth)) assert.equal(within(`${op}${b.join('.')}`, a.join('.')), holds);
    }),
  );
});

test('a range with anything else in it is refused as a whole', () => {
  const wrong = ['', ' ', 'new', '>=', '>= <2', '1.2 >=', '>>1', '=>1', '==1', '!=1', '^1.4', '~1', '1.x', '>=1.4,<2'];
  for (const text of [...wrong, '>=1.4<2', '1 || 2', '1 - 2', '-1', 'v', '1.2.3.4', '1234567890', '>=1 latest']) {
    assert.match(refusal(text), /is not a range of versions such as ">=1\.4 <2"/, text);
  }
  for (const text of [undefined, null, 1.4, ['1.4'], {}]) assert.match(refusal(text), /a value of type/);
});

test('a range has at most ten parts, and a long one is shown in part', () => {
  assert.equal(parseRange('version', '>=1 '.repeat(10)).length, 10);
  assert.match(refusal('>=1 '.repeat(11)), /is not a range/);
  assert.ok(refusal('1 '.repeat(100_000)).length < 300);
});

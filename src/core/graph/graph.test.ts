import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { checkAcyclic } from './graph.ts';

const check = (...after: (readonly number[])[]): void =>
  checkAcyclic(
    after.map((own) => ({ after: own })),
    (place) => `t${place}`,
  );

const circle = (named: string) => (error: unknown) =>
  isEngineError(error, 'INVALID_INPUT') && error.message.includes(`in a circle: ${named}`);

test('chains, diamonds and islands have no cycle', () => {
  check();
  check([], [0], [1], [2]);
  check([], [0], [0], [1, 2], []);
  check([1], [2], []);
});

test('a task that waits for itself, or for one that waits for it, is refused, and the cycle is named', () => {
  assert.throws(() => check([0]), circle('t0 → t0'));
  assert.throws(() => check([1], [0]), circle('t0 → t1 → t0'));
  assert.throws(() => check([], [0, 3], [1], [2]), circle('t1 → t2 → t3 → t1'));
});

test('a chain of ten thousand tasks is checked without recursion', () => {
  check(...Array.from({ length: 10_000 }, (_, i) => (i === 9999 ? [] : [i + 1])));
  assert.throws(() => check(...Array.from({ length: 10_000 }, (_, i) => [(i + 1) % 10_000])), circle('t0 → '));
});

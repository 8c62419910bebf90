import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimAnswer, ClaimRequest, Grant } from '../store.ts';
import { deal, mergeClaims } from './merge.ts';

const claim = (max: number, more: Partial<ClaimRequest> = {}): ClaimRequest => {
  return { holder: 1, ttlMs: 1000, max, lanes: [{ lane: 7, max }], ...more };
};
const grants = (count: number): Grant[] => Array.from({ length: count }, (_, task) => ({ task }) as Grant);

test('claims of one worker for the same lanes leave as one, which asks for their sum', () => {
  const [merged, ...others] = mergeClaims([claim(3), claim(2)]);
  assert.deepEqual(others, []);
  assert.deepEqual(merged, { request: claim(5), places: [0, 1] });
});

test('claims that differ in worker, lease or lanes, and those with an id or a task of their own, stay alone', () => {
  const claims = [
    claim(1),
    claim(1, { holder: 2 }),
    claim(1, { ttlMs: 1 }),
    claim(1, { lanes: [{ lane: 8, max: 1 }] }),
    claim(1, { op: 'a' }),
    claim(1, { op: 'a' }),
    claim(1, { task: 4, lanes: [] }),
  ];
  assert.deepEqual(
    mergeClaims(claims).map(({ places }) => places),
    claims.map((_, i) => [i]),
  );
});

test('what was granted fills the first claim before the second, and a refusal goes to all', () => {
  const claims = [claim(3), claim(2)];
  const [merged] = mergeClaims(claims);
  assert.ok(merged);
  const dealt: (ClaimAnswer | undefined)[] = [];
  deal(merged, claims, { grants: grants(4), blocked: [] }, dealt);
  assert.deepEqual(
    dealt.map((one) => one?.grants.map(({ task }) => task)),
    [[0, 1, 2], [3]],
  );
  deal(merged, claims, undefined, dealt);
  assert.deepEqual(dealt, [undefined, undefined]);
});

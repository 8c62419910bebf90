import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grant } from '../../store/store.ts';
import { type ClaimRequest, distribute, groupRequests } from './claim-request.ts';

const request = (max: number, more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  worker: 1,
  max,
  leaseMs: 1000,
  queues: undefined,
  handlers: undefined,
  op: undefined,
  ...more,
});
const grants = (count: number): Grant[] => Array.from({ length: count }, (_, task) => ({ task }) as Grant);

test('requests of one worker for the same tasks become one, which asks for their sum', () => {
  const queues = (): ReadonlySet<string> => new Set(['mail', 'video']);
  const groups = groupRequests([request(3, { queues: queues() }), request(2, { queues: queues() })]);
  assert.deepEqual(groups, [{ request: request(5, { queues: queues() }), positions: [0, 1] }]);
});

test('requests that differ in worker, lease, queues or handlers, and those with an operation id, stay alone', () => {
  const requests = [
    request(1),
    request(1, { worker: 2 }),
    request(1, { leaseMs: 1 }),
    request(1, { queues: new Set(['a,b']) }),
    request(1, { queues: new Set(['a', 'b']) }),
    request(1, { queues: new Set() }),
    request(1, { handlers: new Set(['a', 'b']) }),
    request(1, { op: 'a' }),
    request(1, { op: 'a' }),
  ];
  assert.deepEqual(
    groupRequests(requests).map(({ positions }) => positions),
    requests.map((_, i) => [i]),
  );
});

test('grants fill the first request before the second', () => {
  const requests = [request(3), request(2)];
  const dealt: (readonly Grant[])[] = [];
  for (const group of groupRequests(requests)) distribute(group, requests, grants(4), dealt);
  assert.deepEqual(
    dealt.map((one) => one.map(({ task }) => task)),
    [[0, 1, 2], [3]],
  );
});

test('a request that is alone gets all grants, also more than it asks for now', () => {
  const requests = [request(1, { op: 'again' })];
  const dealt: (readonly Grant[])[] = [];
  for (const group of groupRequests(requests)) distribute(group, requests, grants(4), dealt);
  assert.equal(dealt[0]?.length, 4);
});

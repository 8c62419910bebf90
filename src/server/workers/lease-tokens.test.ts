import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { LeaseTokens } from './lease-tokens.ts';

const tokens = new LeaseTokens(new ClusterSecret('the secret of a cluster', 'key'));
const LEASE = { task: 12, attempt: 3 };
const HOLDER = 'a/one';
const token = tokens.of(LEASE, HOLDER);

test('a token proves its lease to every node of the cluster, and to no other cluster', () => {
  assert.deepEqual(tokens.check({ ...LEASE, token }, HOLDER), LEASE);
  assert.deepEqual(
    new LeaseTokens(new ClusterSecret('the secret of a cluster', 'key')).check({ ...LEASE, token }, HOLDER),
    LEASE,
  );
  assert.equal(
    new LeaseTokens(new ClusterSecret('the secret of another', 'key')).proves({ ...LEASE, token }, HOLDER),
    false,
  );
});

test('every version makes the same one: nodes of two versions serve one worker', () => {
  assert.equal(tokens.of({ task: 7, attempt: 3 }, 'w/i'), 'uR2XZpv73C9a4zlogsWfWg');
  // As nodes made it before the cluster had a secret.
  const clusterKey = 'the key of a cluster';
  const upgraded = new LeaseTokens(new ClusterSecret('the secret of a cluster', 'key'), {
    clusterKey,
    has: () => true,
  });
  assert.ok(upgraded.proves({ task: 7, attempt: 3, token: '7YpMrmrI9yzKayRpDaZtow' }, 'w/i'));
});

test('it is 128 bits that say nothing of the lease', () => {
  assert.match(token, /^[\w-]{22}$/);
  const all = new Set<string>();
  for (let task = 1; task <= 100; task++) {
    for (let attempt = 1; attempt <= 10; attempt++) all.add(tokens.of({ task, attempt }, HOLDER));
  }
  assert.equal(all.size, 1000);
});

test('it proves no other task, attempt or holder, however the numbers run together', () => {
  const others: readonly (readonly [number, number, string])[] = [
    [13, 3, HOLDER],
    [12, 4, HOLDER],
    [1, 23, HOLDER],
    [123, 3, HOLDER],
    [12, 3, 'b/one'],
    [12, 3, 'a/two'],
    [12, 3, 'a'],
    [12, 3, ''],
    [1, 2, '3/a/one'],
  ];
  for (const [task, attempt, holder] of others) {
    assert.equal(tokens.proves({ task, attempt, token }, holder), false, `${task} ${attempt} ${holder}`);
    assert.notEqual(tokens.of({ task, attempt }, holder), token);
  }
});

test('what is no token of ours is LEASE_LOST, whatever it looks like', () => {
  const wrong = ['', 'x', token.slice(1), token.slice(0, -2), `${token}AA`, token + token, '\u0000', '😀'.repeat(8)];
  for (const one of wrong) {
    assert.throws(
      () => tokens.check({ ...LEASE, token: one }, HOLDER),
      (error) =>
        isEngineError(error, 'LEASE_LOST') &&
        !error.message.includes(token) &&
        /does not belong to this lease/.test(error.hint ?? ''),
    );
  }
});

test('a proof has one spelling: what would mean the same bytes is none', () => {
  const tokens = new LeaseTokens(new ClusterSecret('aa', 'key'));
  const lease = { task: 7, attempt: 2 };
  const token = tokens.of(lease, 'box/1');
  assert.ok(tokens.proves({ ...lease, token }, 'box/1'));
  const last = token.at(-1) as string;
  const twins = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    .split('')
    .filter((one) => one !== last);
  for (const other of [
    `${token}=`,
    `${token}==`,
    `${token} `,
    ` ${token}`,
    `${token}\n`,
    token.replace('-', '+'),
    ...twins.map((one) => token.slice(0, -1) + one),
  ]) {
    if (other !== token) assert.equal(tokens.proves({ ...lease, token: other }, 'box/1'), false, JSON.stringify(other));
  }
});

test('a token under the key of the store proves a lease from before the secret, and no other', () => {
  const clusterKey = 'ab'.repeat(16);
  // As nodes computed it when the cluster had no secret.
  const oldKey = createHmac('sha256', clusterKey).update('leases').digest();
  const old = (task: number, attempt: number): string =>
    createHmac('sha256', oldKey).update(`${task}/${attempt}/${HOLDER}`).digest().subarray(0, 16).toString('base64url');
  const secret = new ClusterSecret('the secret of a cluster', clusterKey);
  const has = ({ task, attempt }: { task: number; attempt: number }): boolean => task === 12 && attempt === 3;
  const tokens = new LeaseTokens(secret, { clusterKey, has });
  assert.ok(tokens.proves({ ...LEASE, token: old(12, 3) }, HOLDER));
  assert.ok(tokens.proves({ ...LEASE, token: tokens.of(LEASE, HOLDER) }, HOLDER));
  assert.notEqual(tokens.of(LEASE, HOLDER), old(12, 3), 'what is handed out is under the secret');
  assert.equal(tokens.proves({ ...LEASE, token: old(12, 3) }, 'a/two'), false);
  for (const [task, attempt] of [
    [12, 4],
    [13, 3],
  ] as const)
    assert.equal(tokens.proves({ task, attempt, token: old(task, attempt) }, HOLDER), false);
  assert.equal(new LeaseTokens(secret).proves({ ...LEASE, token: old(12, 3) }, HOLDER), false);
});

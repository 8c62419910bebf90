import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { LeaseTokens } from './lease-tokens.ts';

const tokens = new LeaseTokens('the key of a cluster');
const LEASE = { task: 12, attempt: 3 };
const HOLDER = 'a/one';
const token = tokens.of(LEASE, HOLDER);

test('a token proves its lease to every node of the cluster, and to no other cluster', () => {
  assert.deepEqual(tokens.check({ ...LEASE, token }, HOLDER), LEASE);
  assert.deepEqual(new LeaseTokens('the key of a cluster').check({ ...LEASE, token }, HOLDER), LEASE);
  assert.equal(new LeaseTokens('the key of another').proves({ ...LEASE, token }, HOLDER), false);
});

test('every version makes the same one: nodes of two versions serve one worker', () => {
  assert.equal(tokens.of({ task: 7, attempt: 3 }, 'w/i'), '7YpMrmrI9yzKayRpDaZtow');
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
  const tokens = new LeaseTokens('aa');
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

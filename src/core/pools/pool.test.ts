import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { checkPool, DEFAULT_POLICY, type PoolInput } from './pool.ts';
import { checkTicket, ticketId } from './ticket.ts';

test('a pool that says nothing serves the queue of its name, with workers for one task as processes of the host', () => {
  assert.deepEqual(checkPool('papers', {}), {
    queues: ['papers'],
    enabled: true,
    policy: DEFAULT_POLICY,
    worker: { life: 'once', slots: 1, tags: [] },
    launcher: { kind: 'subprocess' },
  });
});

test('what is checked once is the same when it is checked again', () => {
  const given: PoolInput = {
    queues: ['a', 'b', 'a'],
    enabled: false,
    policy: { min: 1, max: 7, idleMs: '5m', targetWaitMs: '30s', cooldownUpMs: 0, burst: undefined },
    worker: { life: 'stay', slots: 4, tags: ['gpu=nvidia'] },
    launcher: { kind: 'command', argv: ['start', '{ticket}'] },
  };
  const pool = checkPool('papers', given);
  assert.deepEqual(pool.queues, ['a', 'b']);
  assert.deepEqual([pool.policy.idleMs, pool.policy.targetWaitMs, pool.policy.burst], [300_000, 30_000, 100]);
  assert.deepEqual(checkPool('papers', JSON.parse(JSON.stringify(pool)) as PoolInput), pool);
});

const REFUSED: readonly (readonly [name: string, input: unknown, problem: RegExp])[] = [
  ['NO NAME', {}, /pool name/],
  ['p', { queues: [] }, /queues/],
  ['p', { queues: Array.from({ length: 101 }, (_, i) => `q${i}`) }, /queues/],
  ['p', { queues: ['Q'] }, /queue name/],
  ['p', { policy: { min: 3, max: 2 } }, /more than the most/],
  ['p', { policy: { max: 1.5 } }, /policy\.max/],
  ['p', { policy: { max: 10_001 } }, /policy\.max/],
  ['p', { policy: { tasksPerWorker: 0 } }, /tasksPerWorker/],
  ['p', { policy: { idleMs: 'soon' } }, /idleMs/],
  ['p', { policy: { startMs: 10 } }, /startMs/],
  ['p', { worker: { life: 'forever' } }, /worker\.life/],
  ['p', { worker: { life: 'once', slots: 2 } }, /worker\.slots/],
  ['p', { worker: { life: 'stay', slots: 0 } }, /worker\.slots/],
  ['p', { worker: { tags: ['--allow'] } }, /worker\.tags/],
  ['p', { worker: { tags: ['a b'] } }, /worker\.tags/],
  ['p', { worker: { tags: Array.from({ length: 101 }, (_, i) => `t${i}`) } }, /worker\.tags/],
  ['p', { launcher: { kind: 'No Kind' } }, /launcher name/],
  ['p', { launcher: { kind: 'command', long: 'x'.repeat(20_000) } }, /launcher/],
];

test('what makes no sense is refused, with the field that is wrong', () => {
  for (const [name, input, problem] of REFUSED) {
    assert.throws(
      () => checkPool(name, input as PoolInput),
      (error) => isEngineError(error, 'INVALID_INPUT') && problem.test(error.message),
      JSON.stringify(input),
    );
  }
});

const ID = 'tk-abcdefgh01234567';

test('the text of a ticket begins with its id, and any other text is refused', () => {
  assert.equal(ticketId(`${ID}.${'x'.repeat(32)}`), ID);
  for (const text of [
    '',
    ID,
    `${ID}.`,
    `${ID}.${'x'.repeat(31)}`,
    `${ID}.${'x'.repeat(33)}`,
    `TK${ID}.${'x'.repeat(32)}`,
  ])
    assert.throws(
      () => ticketId(text),
      (error) => isEngineError(error, 'TICKET_REFUSED'),
      text,
    );
});

test('a ticket is good while it is open and its time has not come', () => {
  const refused = (facts: Parameters<typeof checkTicket>[0], why: RegExp): void =>
    assert.throws(
      () => checkTicket(facts, 100),
      (error) => isEngineError(error, 'TICKET_REFUSED') && why.test(error.message),
    );
  const check: (facts: Parameters<typeof checkTicket>[0], now: number) => void = checkTicket;
  check({ state: 'open', expiresAt: 101 }, 100);
  refused({ state: 'open', expiresAt: 100 }, /too late/);
  refused({ state: 'expired', expiresAt: 101 }, /too late/);
  refused({ state: 'used', expiresAt: 101 }, /another worker/);
  refused({ state: 'failed', expiresAt: 101 }, /nothing was started/);
  refused(undefined, /nobody has reserved/);
});

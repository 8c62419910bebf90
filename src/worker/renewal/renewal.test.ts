import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Lease } from '../../core/task/lease.ts';
import type { World } from '../../core/world.ts';
import type { RenewalAnswer, Session } from '../../protocol/link.ts';
import { Renewal } from './renewal.ts';
import type { LeaseNotice } from './renewal-rounds.ts';

const LEASE_MS = 300;
const READY_MS = 900;

/** A thread that needs three times the lease to be ready, and then never has to renew in a hurry. */
const SLOW = `data:text/javascript,${encodeURIComponent(`
  export async function openRenewals() {
    await new Promise((resolve) => setTimeout(resolve, ${READY_MS}));
    return { renew: async (leases) => leases.map(() => 'held'), blocked: async () => {}, close: async () => {} };
  }`)}`;

test('leases are kept while the thread that will keep them is still starting', async (t) => {
  const news: LeaseNotice[] = [];
  const renewed: Lease[] = [];
  const session: Pick<Session, 'leaseMs' | 'renewal' | 'renew'> = {
    leaseMs: LEASE_MS,
    renewal: { module: SLOW, data: undefined },
    async renew(leases): Promise<readonly RenewalAnswer[]> {
      renewed.push(...leases);
      return leases.map(() => 'held');
    },
  };
  const renewal = new Renewal({
    session: session as Session,
    world: realWorld(),
    capacity: 4,
    maxBlockMs: 60_000,
    onNotice: (one) => void news.push(one),
    onTrouble: (error) => assert.fail(String(error)),
  });
  t.after(() => renewal.close());
  renewal.start();
  renewal.hold({ task: 7, attempt: 1 });
  // Until the thread has taken over from the loop, and then longer than a lease without a renewal lasts.
  while (renewed.length < 3 && news.length === 0) await pause(10);
  let before = -1;
  while (before !== renewed.length) {
    before = renewed.length;
    await pause(2 * LEASE_MS);
  }
  assert.deepEqual([renewed[0]?.task, renewed[0]?.attempt], [7, 1]);
  assert.deepEqual(news, [], 'no lease was late');
});

/** A thread that finds the store away at first: as often as `data` says. */
const AWAY = `data:text/javascript,${encodeURIComponent(`
  let left;
  export async function openRenewals(times) {
    left ??= times;
    const away = { code: 'STORE_UNAVAILABLE', retryable: true, [Symbol.for('leasehold.error')]: true };
    if (left-- > 0) throw Object.assign(new Error('away'), away);
    return { renew: async (leases) => leases.map(() => 'held'), blocked: async () => {}, close: async () => {} };
  }`)}`;

test('a thread that finds the store away waits for it, and the loop keeps the leases meanwhile', async (t) => {
  const renewed: Lease[] = [];
  const renewal = new Renewal({
    session: {
      leaseMs: LEASE_MS,
      renewal: { module: AWAY, data: 3 },
      async renew(leases): Promise<readonly RenewalAnswer[]> {
        renewed.push(...leases);
        return leases.map(() => 'held');
      },
    },
    world: realWorld(),
    capacity: 4,
    maxBlockMs: 60_000,
    onNotice: (notice) => assert.fail(notice.kind),
    onTrouble: (error) => assert.fail(String(error)),
  });
  t.after(() => renewal.close());
  renewal.start();
  renewal.hold({ task: 7, attempt: 1 });
  while (renewed.length === 0) await pause(10);
  // Once the thread has taken over, the loop renews no more.
  let before = -1;
  while (before !== renewed.length) {
    before = renewed.length;
    await pause(2 * LEASE_MS);
  }
});

test('a thread that waits for its store ends when it is told to', async () => {
  const renewal = new Renewal({
    session: {
      leaseMs: LEASE_MS,
      renewal: { module: AWAY, data: Number.MAX_SAFE_INTEGER },
      renew: async (leases) => leases.map(() => 'held'),
    },
    world: realWorld(),
    capacity: 4,
    maxBlockMs: 60_000,
    onNotice: (notice) => assert.fail(notice.kind),
    onTrouble: (error) => assert.fail(String(error)),
  });
  renewal.start();
  renewal.hold({ task: 7, attempt: 1 });
  await pause(LEASE_MS);
  await renewal.close();
});

test('where no thread can be made, the loop keeps the leases and says so', async (t) => {
  const troubles: unknown[] = [];
  const renewed: Lease[] = [];
  const renewal = new Renewal({
    session: {
      leaseMs: LEASE_MS,
      // A function cannot be cloned: the thread is refused on the spot.
      renewal: { module: SLOW, data: () => {} },
      async renew(leases): Promise<readonly RenewalAnswer[]> {
        renewed.push(...leases);
        return leases.map(() => 'held');
      },
    },
    world: realWorld(),
    capacity: 4,
    maxBlockMs: 60_000,
    onNotice: (notice) => assert.fail(notice.kind),
    onTrouble: (error) => void troubles.push(error),
  });
  t.after(() => renewal.close());
  renewal.start();
  assert.equal(typeof renewal.hold({ task: 7, attempt: 1 }), 'number');
  while (renewed.length < 3) await pause(10);
  assert.equal(troubles.length, 1);
});

test('a loop that was blocked while its thread was starting does not take its leases for lost', async (t) => {
  const news: LeaseNotice[] = [];
  const QUICK = `data:text/javascript,${encodeURIComponent(`
    export const openRenewals = async () =>
      ({ renew: async (leases) => leases.map(() => 'held'), blocked: async () => {}, close: async () => {} });`)}`;
  const renewal = new Renewal({
    session: { leaseMs: 2000, renewal: { module: QUICK, data: undefined }, renew: async (ls) => ls.map(() => 'held') },
    world: realWorld(),
    capacity: 4,
    maxBlockMs: 60_000,
    onNotice: (one) => void news.push(one),
    onTrouble: (error) => assert.fail(String(error)),
  });
  t.after(() => renewal.close());
  renewal.start();
  renewal.hold({ task: 7, attempt: 1 });
  for (const end = performance.now() + 3000; performance.now() < end; );
  await pause(300);
  assert.deepEqual(news, []);
});

test('a thread that waits with its store opens it at once when the loop is blocked with a lease in hand', async (t) => {
  const opened = new Int32Array(new SharedArrayBuffer(4));
  const TOLD = `data:text/javascript,${encodeURIComponent(`
    export async function openRenewals(opened) {
      Atomics.store(opened, 0, 1);
      Atomics.notify(opened, 0);
      return { renew: async (leases) => leases.map(() => 'held'), blocked: async () => {}, close: async () => {} };
    }`)}`;
  const renewal = new Renewal({
    // Its first renewal is due in 20 minutes.
    session: { leaseMs: 3_600_000, renewal: { module: TOLD, data: opened }, renew: async (ls) => ls.map(() => 'held') },
    world: realWorld(),
    capacity: 4,
    maxBlockMs: 60_000,
    onNotice: (notice) => assert.fail(notice.kind),
    onTrouble: (error) => assert.fail(String(error)),
  });
  t.after(() => renewal.close());
  renewal.start();
  renewal.prepare();
  renewal.hold({ task: 7, attempt: 1 });
  assert.notEqual(Atomics.wait(opened, 0, 0, 60_000), 'timed-out');
});

function realWorld(): World {
  const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;
  return {
    clock: { wall: () => Date.now(), monotonic },
    random: Math.random,
    timers: {
      after: (ms, fn) => {
        const timer = setTimeout(fn, ms);
        return () => clearTimeout(timer);
      },
      soon: (fn) => void setImmediate(fn),
    },
  };
}

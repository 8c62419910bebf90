import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../store/conformance/kit/snapshot.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import { Roster } from './roster.ts';

const LEASE = 30_000;
const STEADY = { baseMs: 1000, factor: 2, jitter: 0 } as const;

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly worker: number;
  readonly claim: (leaseMs?: number) => Promise<Grant>;
  readonly running: (request?: Partial<PushRequest>, leaseMs?: number) => Promise<Grant>;
  readonly stateOf: (task: number) => Promise<string>;
}

async function rig(t: TestContext, ttlMs?: number): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world, leaseMs: LEASE });
  const roster = new Roster({ engine, holder: 'a', ...(ttlMs === undefined ? {} : { ttlMs }) });
  t.after(async () => {
    await roster.stop();
    checkBooks(await lookAt(store));
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const claim = async (leaseMs = LEASE): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1, leaseMs });
    assert.ok(grant, 'there was nothing to claim');
    return grant;
  };
  return {
    world,
    store,
    engine,
    roster,
    worker,
    claim,
    running: async (request, leaseMs) => {
      await engine.push({ queue: 'mail', handler: 'send', retry: STEADY, ...request });
      return claim(leaseMs);
    },
    stateOf: async (task) => {
      const record = await engine.get(task);
      return `${record?.state} ${record?.reason} ${record?.tries}/${record?.attempt}`;
    },
  };
}

test("a silent worker's task is taken back a moment after its lease has expired, and not before", async (t) => {
  const { roster, world, running, stateOf } = await rig(t);
  roster.keeper('reaper').start();
  await world.settle();
  const { task } = await running();
  await world.advance(LEASE);
  assert.equal(await stateOf(task), 'running none 1/1');
  await world.advance(1);
  assert.equal(await stateOf(task), 'ready none 1/1');
});

test('the reaper wakes at the earliest expiry, for short leases too, and not only at its interval', async (t) => {
  const { roster, world, engine, running } = await rig(t);
  roster.keeper('reaper').start();
  await world.advance(10_500);
  const { task } = await running({}, 137);
  await world.advance(137);
  assert.equal((await engine.get(task))?.state, 'running');
  await world.advance(1);
  assert.equal((await engine.get(task))?.state, 'ready');
});

test('a renewed lease is left alone as long as it is renewed', async (t) => {
  const { roster, world, engine, running, stateOf } = await rig(t);
  roster.keeper('reaper').start();
  const grant = await running();
  for (let n = 0; n < 20; n++) {
    await world.advance(LEASE / 3);
    assert.equal((await engine.renew(grant)).held, true);
  }
  assert.equal(await stateOf(grant.task), 'running none 1/1');
});

test('the first lost lease is tried again at once, later ones after a backoff, the last one fails', async (t) => {
  const { roster, world, claim, running, stateOf } = await rig(t);
  roster.start();
  const { task } = await running({ maxAttempts: 3 });
  await world.advance(LEASE + 1);
  assert.equal(await stateOf(task), 'ready none 1/1');
  await claim();
  await world.advance(LEASE + 1);
  assert.equal(await stateOf(task), 'scheduled none 2/2');
  await world.advance(1999);
  assert.equal(await stateOf(task), 'scheduled none 2/2');
  await world.advance(1);
  assert.equal(await stateOf(task), 'ready none 2/2');
  await claim();
  await world.advance(LEASE + 1);
  assert.equal(await stateOf(task), 'failed exhausted 3/3');
});

test('the result of a worker that was taken for dead is refused', async (t) => {
  const { roster, world, engine, running } = await rig(t);
  roster.keeper('reaper').start();
  const grant = await running();
  await world.advance(LEASE + 1);
  assert.equal(await refusal(engine.complete(grant)), 'LEASE_LOST');
});

test('a task that was asked to stop is cancelled when its worker stays silent', async (t) => {
  const { roster, world, engine, running, stateOf } = await rig(t);
  roster.keeper('reaper').start();
  const { task } = await running();
  await engine.cancel(task);
  await world.advance(LEASE + 1);
  assert.equal(await stateOf(task), 'cancelled requested 1/1');
});

test('the reap wakes waiting claims, without any further time passing', async (t) => {
  const { roster, world, engine, running, worker } = await rig(t);
  roster.keeper('reaper').start();
  const { task } = await running();
  await world.advance(LEASE - 100);
  let claimed: readonly Grant[] = [];
  void engine.claim({ worker, max: 1, waitMs: 60_000 }).then((grants) => {
    claimed = grants;
  });
  await world.advance(101);
  assert.deepEqual(
    claimed.map((grant) => [grant.task, grant.attempt]),
    [[task, 2]],
  );
});

test('after a predecessor that vanished the reaper waits one lease, so that living workers can renew', async (t) => {
  const { roster, world, store, engine, running, stateOf } = await rig(t);
  const living = await running({ queue: 'living' });
  const dead = await running({ queue: 'dead' });
  await store.dutyTake({ name: 'reaper', holder: 'vanished', ttlMs: 1000 });
  await world.advance(10 * LEASE);
  await roster.tick('reaper');
  assert.equal(await stateOf(dead.task), 'running none 1/1');
  roster.keeper('reaper').start();
  await world.advance(LEASE / 2);
  assert.equal((await engine.renew(living)).held, true);
  await world.advance(LEASE / 2);
  assert.equal(await stateOf(living.task), 'running none 1/1');
  await world.advance(2);
  assert.equal(await stateOf(dead.task), 'ready none 1/1');
  assert.equal(await stateOf(living.task), 'running none 1/1');
});

test('after a predecessor that gave the duty back the reaper works at once', async (t) => {
  const { roster, world, store, running, stateOf } = await rig(t);
  const { task } = await running();
  const duty = await store.dutyTake({ name: 'reaper', holder: 'before', ttlMs: 1000 });
  assert.ok(duty);
  await store.dutyRelease({ duty });
  await world.advance(LEASE + 1);
  await roster.tick('reaper');
  assert.equal(await stateOf(task), 'ready none 1/1');
});

for (const jump of [3000, -3000]) {
  test(`when the wall clock moved by ${jump} ms against the other one, the reaper waits one lease`, async (t) => {
    const { roster, world, running, stateOf } = await rig(t);
    roster.keeper('reaper').start();
    const { task } = await running();
    await world.advance(LEASE - 100);
    world.jump(jump);
    await world.advance(LEASE);
    assert.equal(await stateOf(task), 'running none 1/1', 'it did not wait');
    await world.advance(1000);
    assert.equal(await stateOf(task), 'ready none 1/1', 'it waited too long');
  });
}

test('small corrections of the wall clock delay nothing', async (t) => {
  const { roster, world, running, stateOf } = await rig(t);
  roster.keeper('reaper').start();
  const { task } = await running();
  await world.advance(LEASE - 100);
  world.jump(1500);
  await world.advance(101);
  assert.equal(await stateOf(task), 'ready none 1/1');
});

test('more expired leases than fit into one pass are all taken back', async (t) => {
  const { roster, world, engine, worker } = await rig(t);
  await engine.pushMany(Array.from({ length: 1200 }, () => ({ queue: 'mail', handler: 'send' })));
  for (let i = 0; i < 2; i++) await engine.claim({ worker, max: 600 });
  roster.keeper('reaper').start();
  await world.advance(LEASE + 1);
  assert.equal((await engine.stats('mail')).ready, 1200);
  assert.equal(roster.keeper('reaper').done, 1200);
});

test('a deposed reaper takes nothing back', async (t) => {
  const { roster, world, store, running, stateOf } = await rig(t);
  const { task } = await running();
  await roster.tick('reaper');
  await world.advance(LEASE + 1);
  assert.ok(await store.dutyTake({ name: 'reaper', holder: 'b', ttlMs: 60_000 }));
  assert.equal(await roster.tick('reaper'), 0);
  assert.equal(await stateOf(task), 'running none 1/1');
});

test('an idle reaper writes every ten seconds and not at every look, so that lease time is recorded', async (t) => {
  const { roster, world, store } = await rig(t);
  let writes = 0;
  const leaseReap = store.leaseReap.bind(store);
  store.leaseReap = (params) => {
    writes++;
    return leaseReap(params);
  };
  roster.keeper('reaper').start();
  await world.advance(100_000);
  assert.ok(writes >= 9 && writes <= 11, `${writes} writes`);
});

// The store itself was out of reach, or has only just started: nobody could renew.

interface Outage {
  /** What happens to a call during the outage: it is refused, or held until the store is back, as a patient store does. */
  how: 'refused' | 'held' | undefined;
  readonly end: () => void;
}

/** Puts the whole store out of reach whenever the test says so. */
function outages(store: Store): Outage {
  let over = Promise.withResolvers<void>();
  const outage: Outage = {
    how: undefined,
    end: () => {
      outage.how = undefined;
      over.resolve();
      over = Promise.withResolvers();
    },
  };
  for (const verb of ['leaseOverdue', 'leaseReap', 'workerReap', 'dutyRenew', 'dutyTake'] as const) {
    const call = store[verb].bind(store) as (params: never) => Promise<never>;
    (store[verb] as unknown) = async (params: never) => {
      if (outage.how === 'refused') throw fault('STORE_UNAVAILABLE', { problem: 'no route' });
      if (outage.how === 'held') await over.promise;
      return call(params);
    };
  }
  return outage;
}

/** The terms outlast the outage, so the reaper does not wait because it was deposed. */
const MEETINGS = [
  { first: 'its look at the leases', ttlMs: 10 * LEASE, at: LEASE - 1500 },
  { first: 'its look at the workers', ttlMs: 10 * LEASE, at: LEASE - 500 },
  { first: 'the renewal of its term', ttlMs: 3 * LEASE, at: LEASE - 500 },
] as const;

for (const how of ['refused', 'held'] as const) {
  for (const { first, ttlMs, at } of MEETINGS) {
    test(`after an outage in which ${first} was ${how}, the reaper waits one lease`, async (t) => {
      const { roster, world, store, engine, running, stateOf } = await rig(t, ttlMs);
      roster.keeper('reaper').start();
      await world.settle();
      const living = await running({ queue: 'living' });
      const dead = await running({ queue: 'dead' });
      const outage = outages(store);
      await world.advance(at);
      outage.how = how;
      await world.advance(LEASE / 2);
      outage.end();
      await world.advance(2000);
      assert.equal(await stateOf(living.task), 'running none 1/1', 'it did not wait');
      await world.advance(LEASE / 2);
      assert.equal((await engine.renew(living)).held, true);
      await world.advance(LEASE / 2);
      assert.equal(await stateOf(dead.task), 'ready none 1/1', 'it waits too long');
      assert.equal(await stateOf(living.task), 'running none 1/1');
      assert.equal(roster.keeper('reaper').holding, true);
    });
  }

  test(`a hiccup of the store in which calls are ${how} delays nothing`, async (t) => {
    const { roster, world, store, running, stateOf } = await rig(t, 10 * LEASE);
    roster.keeper('reaper').start();
    const { task } = await running();
    const outage = outages(store);
    await world.advance(LEASE - 8000);
    outage.how = how;
    await world.advance(7000);
    outage.end();
    await world.advance(1001);
    assert.equal(await stateOf(task), 'ready none 1/1');
  });

  test(`no worker counts as lost right after an outage in which calls are ${how}: it could not beat`, async (t) => {
    const { roster, world, store, engine } = await rig(t, 10 * LEASE);
    roster.keeper('reaper').start();
    await world.advance(4500);
    const outage = outages(store);
    outage.how = how;
    await world.advance(LEASE + 5000);
    outage.end();
    await world.advance(2000);
    const states = async (): Promise<readonly string[]> => (await engine.workers.list()).map(({ state }) => state);
    assert.deepEqual(await states(), ['starting']);
    await world.advance(LEASE + 5000);
    assert.deepEqual(await states(), ['lost'], 'it was silent for another lease');
  });
}

test('a store that has only just started is given one lease from its start', async (t) => {
  const { roster, world, store, engine, running, stateOf } = await rig(t);
  const living = await running({ queue: 'living' });
  const dead = await running({ queue: 'dead' });
  await world.advance(LEASE + 1);
  const started = world.clock.monotonic() - 12_000;
  const leaseOverdue = store.leaseOverdue.bind(store);
  store.leaseOverdue = async (params) => ({
    ...(await leaseOverdue(params)),
    upForMs: world.clock.monotonic() - started,
  });
  roster.keeper('reaper').start();
  await world.advance(LEASE - 12_000 - 10);
  assert.equal(await stateOf(dead.task), 'running none 1/1', 'it did not wait');
  assert.equal((await engine.renew(living)).held, true);
  await world.advance(1020);
  assert.equal(await stateOf(dead.task), 'ready none 1/1', 'it waits too long');
  assert.equal(await stateOf(living.task), 'running none 1/1');
});

test('a lease that was claimed since the store has started is taken back when it has expired, however short it is', async (t) => {
  const { roster, world, store, engine, worker, stateOf } = await rig(t);
  const [before, after] = [
    await engine.push({ queue: 'q', handler: 'h' }),
    await engine.push({ queue: 'q', handler: 'h' }),
  ];
  await engine.claim({ worker, max: 1, leaseMs: 1000 });
  await world.advance(10);
  const started = world.clock.monotonic();
  await engine.claim({ worker, max: 1, leaseMs: 1000 });
  const leaseOverdue = store.leaseOverdue.bind(store);
  store.leaseOverdue = async (params) => {
    const upForMs = world.clock.monotonic() - started;
    const overdue = await leaseOverdue(params);
    const heldOf = (task: number): number => (task === before.task ? upForMs + 10 : upForMs);
    return { ...overdue, upForMs, leases: overdue.leases.map((one) => ({ ...one, heldForMs: heldOf(one.task) })) };
  };
  roster.keeper('reaper').start();
  await world.advance(1100);
  assert.equal(await stateOf(after.task), 'ready none 1/1', 'it waited, though its worker could renew');
  assert.equal(await stateOf(before.task), 'running none 1/1', 'it did not wait');
  await world.advance(LEASE);
  assert.equal(await stateOf(before.task), 'ready none 1/1');
});

test('a store that has been up for a lease is waited for no longer', async (t) => {
  const { roster, world, store, running, stateOf } = await rig(t);
  const { task } = await running();
  await world.advance(LEASE + 1);
  const leaseOverdue = store.leaseOverdue.bind(store);
  store.leaseOverdue = async (params) => ({ ...(await leaseOverdue(params)), upForMs: LEASE });
  assert.equal(await roster.tick('reaper'), 1);
  assert.equal(await stateOf(task), 'ready none 1/1');
});

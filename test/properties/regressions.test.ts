/** What the runs against the model found, each as small as it got, so that it stays found. */
import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { fault, isEngineError } from '../../src/core/errors.ts';
import { Engine } from '../../src/engine/engine.ts';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import type { Grant, Store } from '../../src/store/store.ts';
import { settle, VirtualHost } from './world.ts';

const HOUR_MS = 3_600_000;
const lost = (error: unknown): boolean => isEngineError(error, 'LEASE_LOST');
const invalid = (error: unknown): boolean => isEngineError(error, 'INVALID_INPUT');

/** As over the wire: nothing of the grant but task and attempt. */
const bare = ({ task, attempt }: Grant): { task: number; attempt: number } => ({ task, attempt });

interface Scene {
  readonly host: VirtualHost;
  readonly engine: Engine;
  readonly worker: number;
  /** Another process on the same data. */
  readonly other: () => Promise<Engine>;
  readonly one: () => Promise<Grant>;
}

let scenes = 0;

async function scene(t: TestContext): Promise<Scene> {
  const host = new VirtualHost(Date.UTC(2027, 0, 1), 1_000_000);
  const file = `memory:regression-${++scenes}`;
  const open = async (): Promise<Engine> => {
    const { world } = host.process();
    const store = await openSqlite({ file, world, boot: 'boot' });
    t.after(() => store.close());
    return new Engine({ store, world });
  };
  const engine = await open();
  const worker = await engine.workers.register({ name: 'worker', incarnation: 'worker', slots: 1 });
  const one = async (): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant, 'there was nothing to claim');
    return grant;
  };
  return { host, engine, worker, other: open, one };
}

test('a priority of 0 comes back as 0, not as minus 0', async (t) => {
  const { engine, one } = await scene(t);
  const { task } = await engine.push({ queue: 'alpha', handler: 'run' });
  assert.ok(Object.is((await engine.get(task))?.priority, 0));
  assert.ok(Object.is((await one()).priority, 0));
});

test('a failure that is repeated without its grant is told that it was done, also after the next claim', async (t) => {
  const { engine, one } = await scene(t);
  await engine.push({ queue: 'alpha', handler: 'run', maxAttempts: 2, retry: { baseMs: 0 } });
  const first = bare(await one());
  assert.equal(await engine.fail(first, 'once'), 'ready');
  await one();
  assert.equal(await engine.fail(first, 'once'), 'ready');
});

test('the last bounce but one is told that it was done when it is repeated without its grant', async (t) => {
  const { engine, one } = await scene(t);
  const { task } = await engine.push({ queue: 'alpha', handler: 'run' });
  for (let bounces = 1; bounces < 20; bounces++) {
    const lease = bare(await one());
    assert.equal(await engine.release(lease, { bounced: true }), 'ready');
    assert.equal(await engine.release(lease, { bounced: true }), 'ready');
  }
  const last = bare(await one());
  assert.equal(await engine.release(last, { bounced: true }), 'failed');
  assert.equal(await engine.release(last, { bounced: true }), 'failed');
  assert.equal((await engine.get(task))?.reason, 'undeliverable');
});

test('a release that became a cancellation is told so again when it is repeated', async (t) => {
  const { engine, one } = await scene(t);
  await engine.push({ queue: 'alpha', handler: 'run' });
  const lease = await one();
  await engine.cancel(lease.task);
  for (const said of [lease, bare(lease)]) assert.equal(await engine.release(said), 'cancelled');
});

test('attempt 0 speaks for nobody, not even for a task that was cancelled before its first claim', async (t) => {
  const { engine } = await scene(t);
  const { task } = await engine.push({ queue: 'alpha', handler: 'run' });
  await engine.cancel(task);
  await assert.rejects(engine.cancelled({ task, attempt: 0 }), lost);
  await assert.rejects(engine.release({ task, attempt: 0 }), lost);
});

test('the pause of another process holds after a second, also for a queue that had nothing ready then', async (t) => {
  const { host, engine, worker, other, one } = await scene(t);
  const { task } = await engine.push({ queue: 'alpha', handler: 'run' });
  await engine.complete(await one());
  await (await other()).pause('alpha');
  host.advance(1_500);
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  host.advance(500);
  await engine.retry(task);
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
});

test('the pause of another process holds after a second, also where a look takes a round trip', async (t) => {
  const { host, engine, worker, other } = await scene(t);
  await engine.push({ queue: 'alpha', handler: 'run' });
  await (await other()).pause('alpha');
  host.advance(30_000);
  const queueList = engine.store.queueList.bind(engine.store);
  t.mock.method(engine.store, 'queueList', async () => {
    await settle();
    return queueList();
  });
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
});

test('a trigger that is declared again answers the slot that it will fire, not the one after now', async (t) => {
  const { host, engine } = await scene(t);
  const trigger = { name: 'hourly', cron: '0 * * * *', queue: 'alpha', handler: 'run' };
  const first = await engine.schedules.put(trigger);
  host.advance(3 * HOUR_MS);
  assert.equal(await engine.schedules.put(trigger), first);
});

test('a claim whose second look meets a busy store hands out what the first one was granted', async (t) => {
  const { engine, worker } = await scene(t);
  const { store } = engine;
  const look = store.taskClaim.bind(store);
  const looks = t.mock.method(store, 'taskClaim', (params: Parameters<Store['taskClaim']>[0]) =>
    looks.mock.callCount() === 1 ? Promise.reject(fault('STORE_BUSY')) : look(params),
  );
  await engine.push({ queue: 'alpha', handler: 'run' });
  for (let i = 0; i < 5; i++) await engine.push({ queue: 'beta', handler: 'run' });
  const grants = await engine.claim({ worker, max: 4 });
  assert.equal(looks.mock.callCount(), 2);
  assert.equal(grants.length, 3);
});

test('a result and the next claim of the same turn share one commit', async (t) => {
  const { engine, worker, one } = await scene(t);
  for (let i = 0; i < 2; i++) await engine.push({ queue: 'alpha', handler: 'run' });
  const lease = await one();
  const get = t.mock.method(StatementSync.prototype, 'get');
  const [, next] = await Promise.all([engine.complete(lease), engine.claim({ worker, max: 1 })]);
  assert.equal(next.length, 1);
  const commits = get.mock.calls.filter(({ this: statement }) => (statement as StatementSync).sourceSQL === 'COMMIT');
  assert.equal(commits.length, 1);
});

test('a lease without an end is refused: it would never run out', async (t) => {
  const { engine, worker, one } = await scene(t);
  await engine.push({ queue: 'alpha', handler: 'run' });
  for (const wrong of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
    await assert.rejects(engine.claim({ worker, max: 1, leaseMs: wrong }), invalid);
    await assert.rejects(engine.claim({ worker, max: wrong }), invalid);
  }
  const lease = await one();
  for (const wrong of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
    await assert.rejects(engine.renew(lease, wrong), invalid);
    await assert.rejects(engine.fail(lease, 'later', { retryAfterMs: wrong }), invalid);
    await assert.rejects(engine.release(lease, { delayMs: wrong }), invalid);
  }
  assert.equal((await engine.get(lease.task))?.leaseUntil, lease.leaseUntil);
});

test('a task can fail with an error that no store can keep', async (t) => {
  const { engine, one } = await scene(t);
  // The last one cannot even be turned into text.
  const odd = Object.assign(Object.create(null), { run: () => 1 });
  const errors = [new Error('a NUL \u0000 inside'), 'half \ud800 a pair', 10n, Symbol('odd'), odd];
  for (const error of errors) {
    await engine.push({ queue: 'alpha', handler: 'run', maxAttempts: 1 });
    const { task } = await one();
    assert.equal(await engine.fail({ task, attempt: 1 }, error), 'failed');
    assert.equal(typeof JSON.parse((await engine.get(task))?.result ?? '').message, 'string');
  }
});

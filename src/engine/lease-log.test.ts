import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../store/sqlite/open.ts';
import type { Grant } from '../store/store.ts';
import { VirtualWorld } from '../testing.ts';
import { Roster } from './duties/roster.ts';
import { Engine } from './engine.ts';
import { logLeases } from './lease-log.ts';
import type { Log } from './log.ts';

const LEASE = 30_000;

interface Said {
  readonly level: keyof Log;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function rig(t: TestContext, level: 'info' | 'debug') {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world, leaseMs: LEASE });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const said: Said[] = [];
  const note =
    (at: keyof Log): Log['info'] =>
    (message, fields = {}) =>
      void said.push({ level: at, message, fields });
  const debug = level === 'debug' ? { debug: note('debug') } : {};
  const stop = logLeases(engine, { ...debug, info: note('info'), warn: note('warn'), error: note('error') });
  const worker = await engine.workers.register({ name: 'box', incarnation: 'i', slots: 8, host: 'far-1' });
  const running = async (): Promise<Grant> => {
    await engine.push({ queue: 'mail', handler: 'send' });
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    return grant;
  };
  /** What was said since the last time. */
  const lines = async (): Promise<readonly Said[]> => {
    await world.settle();
    return said.splice(0);
  };
  const about = (grant: Grant): object => {
    const task = engine.idOf(grant);
    const { attempt } = grant;
    const names = { worker: 'box', host: 'far-1', queue: 'mail', handler: 'send' };
    return { task, attempt, lease: `${task}#${attempt}`, ...names };
  };
  return { world, store, engine, roster, running, lines, about, stop };
}

test('at level debug each lease is told when it is granted and when it ends', async (t) => {
  const { world, engine, running, lines, about } = await rig(t, 'debug');
  const grant = await running();
  const expiresAt = new Date(world.clock.wall() + LEASE).toISOString();
  assert.deepEqual(await lines(), [
    { level: 'debug', message: 'a lease was granted', fields: { ...about(grant), expiresAt } },
  ]);
  const ends: readonly (readonly [string, (grant: Grant) => Promise<unknown>])[] = [
    ['completed', (lease) => engine.complete(lease, 1)],
    ['failed', (lease) => engine.fail(lease, 'no', { giveUp: true })],
    ['scheduled', (lease) => engine.fail(lease, 'again', { retryAfterMs: 3_600_000 })],
    ['ready', (lease) => engine.release(lease)],
    ['cancelled', (lease) => engine.cancelled(lease)],
    ['waiting', (lease) => engine.turn(lease, { entries: [], then: { go: 'park', key: 'k', channel: 'c' } })],
    ['completed', (lease) => engine.turn(lease, { entries: [], then: { go: 'complete', result: 1 } })],
  ];
  for (const [state, end] of ends) {
    const lease = await running();
    await lines();
    await end(lease);
    assert.deepEqual(await lines(), [
      { level: 'debug', message: 'a lease has ended', fields: { ...about(lease), state } },
    ]);
  }
});

test('a lease that runs out, and a renewal and a report that come after it, are told at level info', async (t) => {
  const { world, engine, roster, running, lines, about } = await rig(t, 'info');
  const grant = await running();
  world.elapse(LEASE + 1);
  await roster.tick('reaper');
  const fields = about(grant);
  assert.deepEqual(await lines(), [{ level: 'info', message: 'a lease ran out and was taken back', fields }]);
  assert.deepEqual(await engine.renew(grant), { held: false });
  assert.deepEqual(await lines(), [{ level: 'info', message: 'a renewal was refused: the lease is lost', fields }]);
  await assert.rejects(engine.complete(grant, 1), { code: 'LEASE_LOST' });
  assert.deepEqual(await lines(), [{ level: 'info', message: 'a report was refused: the lease is lost', fields }]);
});

test('a renewal of an attempt that has just ended is no news, and neither is the repeat of an end', async (t) => {
  const { engine, running, lines } = await rig(t, 'debug');
  const grant = await running();
  await engine.complete(grant, 1);
  await lines();
  assert.deepEqual(await engine.renew(grant), { held: false });
  await engine.complete(grant, 1);
  assert.deepEqual(await lines(), []);
});

test('where nobody reads the level debug, claims and ends read nothing for it', async (t) => {
  const { store, engine, running, lines } = await rig(t, 'info');
  const reads = t.mock.method(store, 'attemptWorkers');
  await engine.complete(await running(), 1);
  assert.deepEqual([await lines(), reads.mock.callCount()], [[], 0]);
});

test('a store that does not answer leaves the numbers, and a log that fails harms nobody', async (t) => {
  const { store, engine, running, lines, stop } = await rig(t, 'debug');
  t.mock.method(store, 'attemptWorkers', () => Promise.reject(new Error('away')));
  const { task, attempt } = await running();
  const [said] = await lines();
  assert.deepEqual(
    [said?.message, said?.fields['task'], said?.fields['attempt']],
    ['a lease was granted', task, attempt],
  );
  stop();
  const fails = (): never => {
    throw new Error('the disk is full');
  };
  t.after(logLeases(engine, { debug: fails, info: fails, warn: fails, error: fails }));
  await engine.complete(await running(), 1);
  assert.deepEqual(await lines(), []);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import { Roster } from './roster.ts';

const HOUR = 3_600_000;

async function rig(t: TestContext): Promise<{ world: VirtualWorld; store: Store; engine: Engine; roster: Roster }> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world, retentionMs: HOUR });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  return { world, store, engine, roster };
}

async function finish(engine: Engine, count: number): Promise<void> {
  const pushed = await engine.pushMany(Array.from({ length: count }, () => ({ queue: 'mail', handler: 'send' })));
  for (const { task } of pushed) await engine.cancel(task);
}

test('finished tasks and their events are removed after the retention, and younger ones stay', async (t) => {
  const { world, engine, roster } = await rig(t);
  await finish(engine, 20);
  await world.advance(HOUR + 1);
  await finish(engine, 5);
  await roster.tick('pruner');
  assert.equal((await engine.list({ limit: 100 })).length, 5);
  const page = await engine.store.eventRead({ after: 0, limit: 100 });
  assert.equal(page.reset, true);
  assert.equal(page.events.length, 10);
});

test('a long history is walked in steps, with time between them', async (t) => {
  const { world, engine, roster, store } = await rig(t);
  await finish(engine, 1800);
  await world.advance(2 * HOUR);
  await finish(engine, 1);
  const steps: number[] = [];
  const taskPrune = store.taskPrune.bind(store);
  store.taskPrune = async (params) => {
    steps.push(world.clock.monotonic());
    return taskPrune(params);
  };
  roster.keeper('pruner').start();
  await world.advance(10_000);
  assert.equal((await engine.list({ limit: 10 })).length, 1);
  assert.ok(steps.length >= 4, `${steps.length} steps`);
  for (const [n, at] of steps.entries()) {
    const before = steps[n - 1];
    if (before !== undefined) assert.ok(at - before >= 50, `only ${at - before} ms between two steps`);
  }
});

test('when the walk is complete, the pruner rests for a minute', async (t) => {
  const { world, roster, store } = await rig(t);
  let steps = 0;
  const taskPrune = store.taskPrune.bind(store);
  store.taskPrune = (params) => {
    steps++;
    return taskPrune(params);
  };
  roster.keeper('pruner').start();
  await world.advance(4000);
  assert.equal(steps, 0, 'the first tasks of a process come first');
  await world.advance(60_000);
  assert.equal(steps, 1);
  await world.advance(60_000);
  assert.equal(steps, 2);
  await world.advance(60_000);
  assert.equal(steps, 3);
});

test('entries of the audit have a retention of their own, and of refused strangers the newest stay', async (t) => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world, retentionMs: HOUR, auditRetentionMs: 3 * HOUR });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const entry = {
    actor: 'anna',
    role: 'admin',
    action: 'pauseQueue',
    target: 'q',
    face: 'http',
    outcome: 'done',
  } as const;
  await engine.audit.add(entry);
  await world.advance(2 * HOUR);
  await engine.audit.add({ ...entry, target: 'later' });
  await roster.tick('pruner');
  assert.equal((await engine.audit.list()).length, 2);
  await world.advance(HOUR + 1);
  await roster.tick('pruner');
  assert.deepEqual(
    (await engine.audit.list()).map(({ target }) => target),
    ['later'],
  );
});

test('what is too long for an entry of the audit is cut, and half an object is left out', async (t) => {
  const { engine } = await rig(t);
  const long = `\0${'x'.repeat(500)}`;
  await engine.audit.add({
    actor: long,
    role: 'none',
    by: long,
    action: long,
    target: '\ud800',
    face: 'http',
    address: long,
    request: long,
    outcome: 'began',
    before: JSON.stringify(long.repeat(40)),
    after: JSON.stringify({ name: '\0' }),
  });
  const [entry] = await engine.audit.list({ limit: 1 });
  assert.deepEqual(
    [entry?.actor.length, entry?.target, entry?.before, entry?.after],
    [199, '\ufffd', undefined, '{"name":""}'],
  );
  assert.equal(await engine.audit.end({ id: entry?.id ?? 0, outcome: 'done', status: 200, target: long }), true);
  assert.equal((await engine.audit.list())[0]?.target.length, 199);
});

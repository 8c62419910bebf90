import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Roster } from '../duties/roster.ts';
import { Engine } from '../engine.ts';

const TASK = { queue: 'mail', handler: 'send' } as const;
const folder = tempFolder('timeouts');

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly worker: number;
  readonly stateOf: (task: number) => Promise<string>;
}

async function rig(t: TestContext, file = 'memory:'): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file, world, housekeeping: false });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const stateOf = async (task: number): Promise<string> => {
    const record = await engine.get(task);
    return `${record?.state} ${record?.reason}`;
  };
  return { world, engine, roster, worker, stateOf };
}

test('a task that waits too long fails to the millisecond, because the push wakes the stager', async (t) => {
  const { world, engine, roster, stateOf } = await rig(t);
  roster.keeper('stager').start();
  await world.advance(300);
  const { task } = await engine.push({ ...TASK, waitTimeout: 433 });
  await world.advance(432);
  assert.equal(await stateOf(task), 'ready none');
  await world.advance(1);
  assert.equal(await stateOf(task), 'failed timeout');
  assert.equal(roster.keeper('stager').done, 1);
});

test('the wait of a delayed task begins when it is due', async (t) => {
  const { world, engine, roster, stateOf } = await rig(t);
  roster.keeper('stager').start();
  await world.advance(300);
  const due: number[] = [];
  engine.listen({ due: (inMs) => void due.push(inMs) });
  const delayed = await engine.push({ ...TASK, delay: '1s', waitTimeout: '2s' });
  const dated = await engine.push({ ...TASK, runAt: world.clock.wall() + 1000, waitTimeout: '2s' });
  assert.deepEqual(due, [1000, 3000, 1000, 3000]);
  await world.advance(1000);
  assert.equal(await stateOf(delayed.task), 'ready none');
  await world.advance(1999);
  assert.equal(await stateOf(dated.task), 'ready none');
  await world.advance(1);
  assert.deepEqual([await stateOf(delayed.task), await stateOf(dated.task)], ['failed timeout', 'failed timeout']);
});

test('a task that was started in time may take as long as it likes, and may be retried', async (t) => {
  const { world, engine, roster, worker, stateOf } = await rig(t);
  const { task } = await engine.push({ ...TASK, waitTimeout: '1s' });
  const [grant] = await engine.claim({ worker, max: 1, leaseMs: '1h' });
  assert.ok(grant);
  await world.advance(5000);
  assert.equal(await roster.tick('stager'), 0);
  await engine.release(grant);
  await world.advance(5000);
  assert.equal(await roster.tick('stager'), 0);
  assert.equal(await stateOf(task), 'ready none');
});

test('the stager sleeps until the earlier of the next due task and the next wait timeout', async (t) => {
  const { world, engine, roster } = await rig(t);
  const stager = roster.keeper('stager').duty;
  const nextInMs = async (): Promise<number | undefined> => {
    const term = await engine.store.dutyTake({ name: 'stager', holder: 'x', ttlMs: 10 });
    assert.ok(term);
    const pass = await stager.tick(term, world.clock.monotonic());
    await engine.store.dutyRelease({ duty: term });
    return pass.nextInMs;
  };
  assert.equal(await nextInMs(), undefined);
  await engine.push({ ...TASK, delay: 700 });
  assert.equal(await nextInMs(), 700);
  await engine.push({ ...TASK, waitTimeout: 400 });
  assert.equal(await nextInMs(), 400);
  await world.advance(650);
  assert.equal(await nextInMs(), 50);
});

test('more late tasks than fit into one pass all end at once, and readers of the feed learn of it', async (t) => {
  const { world, engine, roster } = await rig(t);
  await engine.pushMany(Array.from({ length: 1300 }, () => ({ ...TASK, waitTimeout: 100 })));
  const events = engine.events({ after: 1300 })[Symbol.asyncIterator]();
  const next = events.next();
  roster.keeper('stager').start();
  await world.advance(100);
  assert.equal((await engine.stats('mail')).failed, 1300);
  const { value } = await next;
  assert.ok(value?.kind === 'event' && value.event.change === 'timed_out');
  await events.return?.();
});

test('a follower of the log of a task that times out ends', async (t) => {
  const { world, engine, roster } = await rig(t);
  const { task } = await engine.push({ ...TASK, waitTimeout: 100 });
  roster.keeper('stager').start();
  let done = false;
  void (async () => {
    for await (const _ of engine.logs.follow(task));
    done = true;
  })();
  await world.advance(100);
  assert.equal(done, true);
});

test("a push in the caller's own transaction has its timeouts too", async (t) => {
  const file = join(folder, 'caller.db');
  const { world, engine, roster, worker, stateOf } = await rig(t, file);
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  const [late, fine] = await engine.pushIn(db, [
    { ...TASK, waitTimeout: 100, timeout: '5s' },
    { ...TASK, timeout: '5s' },
  ]);
  db.exec('COMMIT');
  assert.ok(late && fine);
  await world.advance(100);
  assert.equal(await roster.tick('stager'), 1);
  assert.equal(await stateOf(late.task), 'failed timeout');
  const [grant] = await engine.claim({ worker, max: 1, task: fine.task });
  assert.equal(await engine.timeoutOf(grant?.spec as number), 5000);
});

test('the run timeout of a task is known from its grant, in every process', async (t) => {
  const { world, engine, worker } = await rig(t);
  await engine.push({ ...TASK, timeout: '90s', retry: { baseMs: 5 } });
  await engine.push(TASK);
  const grants = await engine.claim({ worker, max: 2 });
  const [long, plain] = grants.map(({ spec }) => spec) as [number, number];
  for (const one of [engine, new Engine({ store: engine.store, world })]) {
    assert.deepEqual([await one.timeoutOf(long), await one.timeoutOf(plain)], [90_000, undefined]);
  }
});

test('a trigger passes its run timeout on to its tasks', async (t) => {
  const { world, engine, roster, worker } = await rig(t);
  await engine.schedules.put({ ...TASK, name: 'each-second', cron: '* * * * * *', timeout: '7s' });
  await world.advance(1000);
  assert.equal(await roster.tick('cron'), 1);
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.equal(await engine.timeoutOf(grant?.spec as number), 7000);
});

test('timeouts of the wrong form are refused', async (t) => {
  const { engine } = await rig(t);
  for (const wrong of [0, -1, 'soon', 1.5, Number.NaN]) {
    assert.equal(await refusal(engine.push({ ...TASK, timeout: wrong })), 'INVALID_INPUT');
    assert.equal(await refusal(engine.push({ ...TASK, waitTimeout: wrong })), 'INVALID_INPUT');
  }
});

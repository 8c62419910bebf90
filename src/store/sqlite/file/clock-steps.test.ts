import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Roster } from '../../../engine/duties/roster.ts';
import { Engine } from '../../../engine/engine.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import type { Grant } from '../../store.ts';
import { openSqlite } from '../open.ts';

const folder = tempFolder('clock-steps');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TASK = { queue: 'mail', handler: 'send' } as const;
let files = 0;

interface Rig {
  readonly file: string;
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly worker: number;
  readonly state: (task: number) => Promise<string | undefined>;
  /** Another process on the same host. */
  readonly another: () => Promise<Engine>;
}

async function rig(t: TestContext): Promise<Rig> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const open = async (): Promise<Engine> => {
    const store = await openSqlite({ file, world, housekeeping: false, boot: 'boot' });
    t.after(() => store.close());
    return new Engine({ store, world });
  };
  const engine = await open();
  const roster = new Roster({ engine, holder: 'a' });
  roster.keeper('stager').start();
  t.after(() => roster.stop());
  await world.advance(100);
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  return { file, world, engine, worker, state: async (task) => (await engine.get(task))?.state, another: open };
}

async function claim({ engine, worker }: Rig): Promise<Grant> {
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant, 'there was nothing to claim');
  return grant;
}

for (const back of [-3 * HOUR, -2000]) {
  test(`a clock that is set back by ${-back / 1000} s delays no retry, no delay, no wait and no timeout`, async (t) => {
    const it = await rig(t);
    const { engine, world, state } = it;
    await engine.push({ ...TASK, retry: { baseMs: 30_000, factor: 1, jitter: 0 } });
    const failed = await claim(it);
    await engine.fail(failed, 'no');
    await engine.push(TASK);
    const sleeper = await claim(it);
    await engine.turn(sleeper, { entries: [], then: { go: 'park', key: 'k', timeout: 30_000 } });
    const delayed = await engine.push({ ...TASK, delay: 30_000 });
    const [graphed] = await engine.pushGraph([{ ...TASK, delay: 30_000 }]);
    const late = await engine.push({ ...TASK, queue: 'nobody', waitTimeout: 30_000 });
    const tasks = [failed.task, sleeper.task, delayed.task, graphed?.task as number, late.task];
    const states = (): Promise<unknown> => Promise.all(tasks.map(state));
    const before = await states();
    await world.advance(10_000);
    world.jump(back);
    await world.advance(18_900);
    assert.deepEqual(await states(), before, 'nothing comes early');
    await world.advance(1200);
    assert.deepEqual(await states(), ['ready', 'ready', 'ready', 'ready', 'failed']);
  });
}

test('a clock that was set back a little before it is set back by more lets nothing come early', async (t) => {
  const { engine, world, state } = await rig(t);
  world.jump(-900);
  const { task } = await engine.push({ ...TASK, delay: 30_000 });
  await world.advance(10_000);
  world.jump(-2000);
  await world.advance(19_900);
  assert.equal(await state(task), 'scheduled');
  await world.advance(1200);
  assert.equal(await state(task), 'ready');
});

test('what was asked for at a calendar time keeps it, and its next try does not', async (t) => {
  const it = await rig(t);
  const { engine, world, state } = it;
  const retry = { baseMs: 30_000, factor: 1, jitter: 0 } as const;
  const { task } = await engine.push({ ...TASK, runAt: world.clock.wall() + HOUR, retry });
  world.jump(-HOUR);
  await world.advance(2 * HOUR - 1);
  assert.equal(await state(task), 'scheduled');
  await world.advance(1);
  assert.equal(await state(task), 'ready');
  await engine.fail(await claim(it), 'no');
  world.jump(-HOUR);
  await world.advance(31_000);
  assert.equal(await state(task), 'ready', 'a try after 30 s is a duration');
});

test('what is written after the step and before the stager has seen it is not moved', async (t) => {
  const it = await rig(t);
  const { engine, world, state } = it;
  await world.advance(500);
  world.jump(-HOUR);
  const { task } = await engine.push({ ...TASK, delay: 30_000 });
  await world.advance(29_000);
  assert.equal(await state(task), 'scheduled');
  await world.advance(1000);
  assert.equal(await state(task), 'ready');
});

test('a clock that was wrong for a while and is set right moves what was written meanwhile', async (t) => {
  const { engine, world, state } = await rig(t);
  world.jump(5 * HOUR);
  const { task } = await engine.push({ ...TASK, delay: 30_000 });
  await world.advance(5000);
  world.jump(-5 * HOUR);
  await world.advance(24_000);
  assert.equal(await state(task), 'scheduled');
  await world.advance(1500);
  assert.equal(await state(task), 'ready');
});

test('a host that slept has waited: a clock that is ahead moves nothing', async (t) => {
  const { engine, world, state } = await rig(t);
  const { task } = await engine.push({ ...TASK, delay: HOUR });
  world.jump(HOUR);
  await world.advance(1000);
  assert.equal(await state(task), 'ready');
});

test('of several processes one moves what is due, also when it starts later', async (t) => {
  const it = await rig(t);
  const { engine, world, state, another } = it;
  const second = await another();
  const { task } = await engine.push({ ...TASK, delay: 2 * HOUR });
  world.jump(-HOUR);
  const third = await another();
  await Promise.all([second, third, engine].map((one) => one.push(TASK)));
  await world.advance(2 * HOUR - 1000);
  assert.equal(await state(task), 'scheduled', 'it was moved once');
  await world.advance(1000);
  assert.equal(await state(task), 'ready');
});

test('a transaction that fails moves nothing, and the next one does', async (t) => {
  const { engine, world, state } = await rig(t);
  const { task } = await engine.push({ ...TASK, delay: 30_000 });
  world.jump(-HOUR);
  await assert.rejects(
    engine.store.taskPush({ items: [{ lane: 99, spec: 1, priority: 0, maxTries: 1, payload: '1' }] }),
  );
  await world.advance(30_100);
  assert.equal(await state(task), 'ready');
});

test("a push in the caller's own transaction that is rolled back leaves the correction to the next", async (t) => {
  const { file, engine, world, state } = await rig(t);
  const { task } = await engine.push({ ...TASK, delay: 30_000 });
  await world.advance(100);
  world.jump(-HOUR);
  const db = new DatabaseSync(file);
  db.exec('BEGIN IMMEDIATE');
  await engine.pushIn(db, [TASK]);
  db.exec('ROLLBACK');
  db.close();
  await world.advance(30_100);
  assert.equal(await state(task), 'ready');
});

test('a host that starts again with a clock that is behind its last time waits no longer for that', async (t) => {
  const file = join(folder, `${files++}.db`);
  const before = new VirtualWorld();
  const first = await openSqlite({ file, world: before, housekeeping: false, boot: 'one' });
  const { task } = await new Engine({ store: first, world: before }).push({ ...TASK, delay: 30_000 });
  await before.advance(10_000);
  const duty = await first.dutyTake({ name: 'reaper', holder: 'a', ttlMs: 1000 });
  await first.leaseReap({ duty: duty as NonNullable<typeof duty>, items: [] });
  await first.close();
  const world = new VirtualWorld({ wall: before.clock.wall() - 3 * HOUR, monotonic: 5 });
  const store = await openSqlite({ file, world, housekeeping: false, boot: 'two' });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  assert.equal((await engine.get(task))?.runAt, world.clock.wall() + 20_000);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import { Roster } from './roster.ts';

const DAY = 86_400_000;

async function rig(t: TestContext): Promise<{ world: VirtualWorld; engine: Engine; roster: Roster; other: Engine }> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  return { world, engine, roster, other: new Engine({ store, world }) };
}

const TASK = { queue: 'mail', handler: 'send' } as const;

test('a task becomes ready at its time to the millisecond, because the push wakes the stager', async (t) => {
  const { world, engine, roster } = await rig(t);
  roster.keeper('stager').start();
  await world.advance(300);
  const { task } = await engine.push({ ...TASK, delay: 433 });
  await world.advance(432);
  assert.equal((await engine.get(task))?.state, 'scheduled');
  await world.advance(1);
  assert.equal((await engine.get(task))?.state, 'ready');
});

test('a task that another process pushed becomes ready within a second', async (t) => {
  const { world, engine, roster, other } = await rig(t);
  roster.keeper('stager').start();
  await world.advance(300);
  const { task } = await other.push({ ...TASK, delay: 100 });
  await world.advance(1000);
  assert.equal((await engine.get(task))?.state, 'ready');
});

test('waiting claims are woken when a task comes due', async (t) => {
  const { world, engine, roster } = await rig(t);
  roster.keeper('stager').start();
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const { task } = await engine.push({ ...TASK, delay: 500 });
  let claimed: readonly Grant[] = [];
  void engine.claim({ worker, max: 1, waitMs: 60_000 }).then((grants) => {
    claimed = grants;
  });
  await world.advance(499);
  assert.equal(claimed.length, 0);
  await world.advance(1);
  assert.deepEqual(
    claimed.map((grant) => grant.task),
    [task],
  );
});

test('more due tasks than fit into one pass are all staged at once', async (t) => {
  const { world, engine, roster } = await rig(t);
  await engine.pushMany(Array.from({ length: 1300 }, () => ({ ...TASK, delay: 100 })));
  roster.keeper('stager').start();
  await world.advance(100);
  assert.equal((await engine.stats('mail')).ready, 1300);
  assert.equal(roster.keeper('stager').done, 1300);
});

test('a delay of thirty days, beyond what a timer can wait, comes due after thirty days', async (t) => {
  const { world, engine, roster } = await rig(t);
  const { task } = await engine.push({ ...TASK, delay: '30d' });
  await world.advance(30 * DAY - 1);
  assert.equal(await roster.tick('stager'), 0);
  await world.advance(1);
  assert.equal(await roster.tick('stager'), 1);
  assert.equal((await engine.get(task))?.state, 'ready');
});

test('a failed task comes back after its backoff', async (t) => {
  const { world, engine, roster } = await rig(t);
  roster.keeper('stager').start();
  await world.advance(100);
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const { task } = await engine.push({ ...TASK, retry: { baseMs: 250, jitter: 0 } });
  const [grant] = await engine.claim({ worker, max: 1 });
  await engine.fail(grant as Grant, 'no');
  await world.advance(250);
  assert.equal((await engine.get(task))?.state, 'ready');
});

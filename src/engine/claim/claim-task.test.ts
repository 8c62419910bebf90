import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';

const TASK = { queue: 'mail', handler: 'send' } as const;

async function rig(t: TestContext): Promise<{ engine: Engine; worker: number }> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  return { engine, worker: await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 }) };
}

test('a task can be claimed by its number, before those that came earlier', async (t) => {
  const { engine, worker } = await rig(t);
  await engine.push(TASK);
  const { task } = await engine.push(TASK);
  const leases: number[] = [];
  engine.listen({ leased: (inMs) => void leases.push(inMs) });
  const [grant] = await engine.claim({ worker, max: 1, task, leaseMs: '10s' });
  assert.equal(grant?.task, task);
  assert.deepEqual(leases, [10_000]);
  assert.deepEqual(await engine.claim({ worker, max: 1, task }), []);
  assert.equal((await engine.claim({ worker, max: 5 })).length, 1);
});

test('claims of tasks by number in one turn share a batch, and two claims of one task do not share it', async (t) => {
  const { engine, worker } = await rig(t);
  const pushed = await engine.pushMany([TASK, TASK, TASK]);
  const answers = await Promise.all(
    [...pushed, pushed[0]].map((one) => engine.claim({ worker, max: 1, task: one?.task as number })),
  );
  assert.deepEqual(
    answers.map((grants) => grants.map(({ task }) => task)),
    [...pushed.map(({ task }) => [task]), []],
  );
});

test('a paused queue gives nothing, and a repeated operation id gives the same', async (t) => {
  const { engine, worker } = await rig(t);
  const { task } = await engine.push(TASK);
  await engine.pause('mail');
  assert.deepEqual(await engine.claim({ worker, max: 1, task, op: 'a' }), []);
  await engine.resume('mail');
  const first = await engine.claim({ worker, max: 1, task, op: 'a' });
  assert.equal(first.length, 1);
  assert.deepEqual(await engine.claim({ worker, max: 1, task, op: 'a' }), first);
});

test('an unknown worker and an unknown task get nothing', async (t) => {
  const { engine, worker } = await rig(t);
  const { task } = await engine.push(TASK);
  assert.deepEqual(await engine.claim({ worker: 4711, max: 1, task }), []);
  assert.deepEqual(await engine.claim({ worker, max: 1, task: 4711 }), []);
});

test('a claim of one task takes no filters, does not wait, and needs the number of a task', async (t) => {
  const { engine, worker } = await rig(t);
  const { task } = await engine.push(TASK);
  for (const more of [{ queues: ['mail'] }, { handlers: ['send'] }, { waitMs: 100 }, { task: 'task_1' as never }]) {
    assert.equal(await refusal(engine.claim({ worker, max: 1, task, ...more })), 'INVALID_INPUT');
  }
  assert.equal((await engine.claim({ worker, max: 1, task })).length, 1);
});

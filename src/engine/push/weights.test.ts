import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';

async function rig(t: TestContext): Promise<{ world: VirtualWorld; engine: Engine }> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  return { world, engine: new Engine({ store, world }) };
}

const taking = (weight: number, key?: string) => ({
  queue: 'mail',
  handler: 'send',
  limits: [{ name: 'gpu', weight, ...(key === undefined ? {} : { key }) }],
});

test('a task that takes more of a limit than the whole of it is refused at the push', async (t) => {
  const { engine } = await rig(t);
  await engine.limits.set('gpu', { concurrent: 4, perKey: 2 });
  await assert.rejects(engine.push(taking(5)), (error) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(error.message, /5 is more than the limit gpu allows at once, which is 4: the task could never start/);
    return true;
  });
  await assert.rejects(
    engine.push(taking(3, 'ann')),
    /3 is more than the limit gpu for ann allows at once, which is 2/,
  );
  assert.equal(await refusal(engine.pushMany([taking(1), taking(5)])), 'INVALID_INPUT');
  assert.equal(await refusal(engine.pushGraph([taking(5)])), 'INVALID_INPUT');
  assert.deepEqual(await engine.list({ limit: 10 }), [], 'nothing was stored');
  assert.equal((await engine.push(taking(4))).state, 'ready');
  assert.equal((await engine.push(taking(2, 'ann'))).state, 'ready');
});

test('a child that could never start is refused with its turn', async (t) => {
  const { engine } = await rig(t);
  await engine.limits.set('gpu', { concurrent: 2 });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  await engine.push({ queue: 'mail', handler: 'parent' });
  const [grant] = (await engine.claim({ worker, max: 1 })) as [Grant];
  const turn = engine.turn(grant, { entries: [{ key: 'a', kind: 'child', child: taking(3) }], then: { go: 'on' } });
  assert.equal(await refusal(turn), 'INVALID_INPUT');
});

test('a limit that has no cap, or a cap of 0, refuses no weight', async (t) => {
  const { engine } = await rig(t);
  await engine.limits.set('gpu', { rate: { max: 1, window: '1m' } });
  assert.equal((await engine.push(taking(5))).state, 'ready');
  await engine.limits.set('gpu', { concurrent: 0 });
  assert.equal((await engine.push(taking(6))).state, 'ready');
});

test('a cap that is lowered below the weight of a waiting task refuses the next push, and Explain tells the reason', async (t) => {
  const { engine, world } = await rig(t);
  await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1, handlers: ['send'] });
  await engine.limits.set('gpu', { concurrent: 4 });
  const { task } = await engine.push(taking(3));
  await engine.limits.set('gpu', { concurrent: 2 });
  const told = await engine.explain(task);
  assert.match(told.summary, /^The limit gpu can never let it start: it takes 3, and the limit allows 2 at once\./);
  assert.deepEqual([told.runnable, told.limits[0]?.open], [false, false]);
  await world.advance(1000);
  assert.equal(await refusal(engine.push(taking(3))), 'INVALID_INPUT');
  await engine.limits.set('gpu', { concurrent: 3 });
  assert.equal((await engine.push(taking(3))).state, 'ready');
});

test('Explain says how much a heavy task lacks, not that nothing starts', async (t) => {
  const { engine } = await rig(t);
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 4, handlers: ['send'] });
  await engine.limits.set('gpu', { concurrent: 3 });
  await engine.push(taking(2));
  await engine.claim({ worker, max: 1 });
  const { task } = await engine.push(taking(2));
  assert.equal(
    (await engine.explain(task)).summary,
    'The limit gpu is full for this task: 2 of 3 are in use, and it takes 2.',
  );
});

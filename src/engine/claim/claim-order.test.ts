import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';

async function engineRig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const register = (name: string, more: { priority?: number; slots?: number } = {}): Promise<number> =>
    engine.workers.register({ name, incarnation: name, slots: 4, ...more });
  const got: string[] = [];
  const wait = (name: string, worker: number, max = 1): void => {
    void engine.claim({ worker, max, waitMs: 600_000, handlers: ['h'] }).then((grants) => {
      for (const _ of grants) got.push(name);
    });
  };
  const push = async (count = 1): Promise<void> => {
    await engine.pushMany(Array.from({ length: count }, () => ({ queue: 'q', handler: 'h' })));
    await world.settle();
  };
  return { world, store, engine, register, wait, push, got };
}

test('of several waiting claims the best worker gets the next task, in whatever order they came', async (t) => {
  const { world, register, wait, push, got } = await engineRig(t);
  const names = { plain: await register('plain'), better: await register('better', { priority: 5 }) };
  // The first claim reads the worker profiles.
  wait('plain', names.plain);
  await push();
  assert.deepEqual(got.splice(0), ['plain']);
  await world.advance(1500);
  wait('plain', names.plain);
  wait('better', names.better);
  await world.settle();
  await push();
  assert.deepEqual(got.splice(0), ['better']);
});

test('of equal workers the less busy one gets it, and of those the one that has waited longest', async (t) => {
  const { world, register, wait, push, got } = await engineRig(t);
  const workers = new Map<string, number>();
  for (const name of ['busy', 'late', 'early']) workers.set(name, await register(name));
  const workerOf = (name: string): number => workers.get(name) as number;
  wait('early', workerOf('early'));
  await push();
  got.length = 0;
  await world.advance(1500);
  wait('busy', workerOf('busy'), 1);
  wait('early', workerOf('early'), 4);
  await world.advance(5);
  wait('late', workerOf('late'), 4);
  await world.settle();
  for (const expected of ['early', 'late', 'busy']) {
    await push();
    assert.deepEqual(got.splice(0), [expected]);
  }
});

test('five hundred waiting claims get five hundred tasks, and for a single task only a few of them call the store', async (t) => {
  const { world, store, register, wait, push, got } = await engineRig(t);
  for (let i = 0; i < 500; i++) wait(`w${i}`, await register(`w${i}`));
  await world.settle();
  const claims = t.mock.method(store, 'taskClaim');
  await push(1);
  assert.equal(got.length, 1);
  const asked = claims.mock.calls.flatMap((call) => call.arguments[0].claims).length;
  assert.ok(asked <= 2 * 8, `${asked} of 500 asked for one task`);
  await push(499);
  await world.advance(50);
  assert.equal(got.length, 500);
  assert.equal(new Set(got).size, 500);
});

test('the worker profiles are read once a second, and so much less often with many workers that no more are read', async (t) => {
  for (const [workers, least, most] of [
    [1, 20, 30],
    [1000, 4, 6],
    [4000, 2, 3],
  ] as const) {
    const { world, store, engine, register, wait } = await engineRig(t);
    await Promise.all(Array.from({ length: workers }, (_, i) => register(`w${i}`)));
    const [first] = await engine.workers.list();
    assert.ok(first !== undefined);
    const looks = t.mock.method(store, 'workerFleet');
    wait('first', first.worker);
    for (let second = 0; second < 30; second++) await world.advance(1000);
    const count = looks.mock.callCount();
    assert.ok(count >= least && count <= most, `${count} looks at ${workers} workers in 30 s`);
  }
});

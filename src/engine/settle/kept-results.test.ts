import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import { logicalKey } from './kept-results.ts';

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  const base = { queue: 'q', handler: 'h', reuse: true } as const;
  return {
    world,
    store,
    engine,
    running: async (request: Partial<PushRequest> = {}): Promise<Grant> => {
      const { task } = await engine.push({ ...base, ...request });
      const [grant] = await engine.claim({ worker, max: 1 });
      assert.equal(grant?.task, task);
      return grant as Grant;
    },
  };
}

test('the logical key is 64 hex digits that depend on nothing but handler and input, or key', () => {
  const key = logicalKey('h', { payload: '{"b":[1],"a":null}' });
  assert.match(key, /^[0-9a-f]{64}$/);
  assert.equal(logicalKey('h', { payload: '{ "a": null, "b": [1] }' }), key);
  const others = [
    logicalKey('h2', { payload: '{"b":[1],"a":null}' }),
    logicalKey('h', { payload: '{"b":[1]}' }),
    logicalKey('h', { payload: 'null' }),
    logicalKey('h', { payload: '{}' }),
    logicalKey('h', { key: '{"b":[1],"a":null}' }),
    logicalKey('h', { key: 'k' }),
  ];
  assert.equal(new Set([key, ...others]).size, others.length + 1);
  // Written into stores: if it ever changed, no kept result would be found again.
  assert.equal(logicalKey('h', { key: 'k' }), 'f01bdcd384714c90b477b18ca39568397d7962daae5561078b9c076eeae05376');
});

test('the reuse options are part of the spec, which is the same for all tasks with the same options', async (t) => {
  const { engine, running } = await rig(t);
  const specs = new Set<number>();
  for (let n = 0; n < 5; n++) specs.add((await running({ input: n })).spec);
  assert.equal(specs.size, 1);
  for (let n = 0; n < 5; n++) specs.add((await running({ reuse: { key: `k${n}` } })).spec);
  assert.equal(specs.size, 2, 'a key is not part of it');
  for (const spec of specs) assert.equal(await engine.reuses(spec), true);
  const plain = await running({ reuse: false });
  assert.equal(await engine.reuses(plain.spec), false);
});

test('an engine that has never seen the push finds and keeps results like the one that made it', async (t) => {
  const { engine, store, world, running } = await rig(t);
  const one = await running({ reuse: { key: 'k' } });
  await engine.keepResult(one, { n: 1 });
  const two = await running({ reuse: { key: 'k', maxAge: '1h' }, input: 7 });
  const other = new Engine({ store, world });
  const found = await other.keptResult(two);
  assert.deepEqual([found?.task, found?.value], [one.task, '{"n":1}']);
  await world.advance(3_600_000);
  assert.equal(await other.keptResult(two), undefined);
  await other.keepResult(two, 2);
  assert.equal((await engine.keptResult(two))?.value, '2');
});

test('a task without reuse finds and keeps nothing', async (t) => {
  const { engine, running } = await rig(t);
  const plain = await running({ reuse: false });
  await engine.keepResult(plain, 1);
  assert.equal(await engine.keptResult(plain), undefined);
  assert.equal(await engine.keptResult(await running()), undefined);
});

test('bad reuse options are refused before anything is stored', async (t) => {
  const { engine } = await rig(t);
  for (const reuse of ['soon', 0, { maxAge: 0 }, { key: '' }, { kye: 'k' }, null, []]) {
    const request = { queue: 'q', handler: 'h', reuse } as unknown as PushRequest;
    assert.equal(await refusal(engine.push(request)), 'INVALID_INPUT', JSON.stringify(reuse));
  }
  assert.equal((await engine.stats('q')).ready, 0);
});

test('a lease that no longer holds keeps nothing', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await engine.complete(grant, 1);
  assert.equal(await refusal(engine.keepResult(grant, 1)), 'LEASE_LOST');
  assert.equal(await refusal(engine.keepResult({ ...grant, attempt: Number.NaN }, 1)), 'INVALID_INPUT');
});

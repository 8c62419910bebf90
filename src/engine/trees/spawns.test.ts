import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Lease } from '../../core/task/lease.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import type { Pushed } from '../push/pushes.ts';
import { MAX_CHILDREN, MAX_DEPTH } from './spawns.ts';

const CHILD = { queue: 'q', handler: 'h' } as const;

let keys = 0;
/** Spawns a child of the lease, under a new key by default. */
async function spawn(engine: Engine, lease: Lease, child: PushRequest = CHILD, key = `k${keys++}`): Promise<Pushed> {
  const { entries } = await engine.turn(lease, { entries: [{ key, kind: 'child', child }] });
  return entries[0]?.child as Pushed;
}

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  const claim = async (by = engine): Promise<Grant> => {
    const [grant] = await by.claim({ worker, max: 1 });
    assert.ok(grant);
    return grant;
  };
  /** As another process, or the same one after a restart. */
  const another = (): Engine => new Engine({ store, world });
  return { engine, claim, another, store };
}

test('a task that spawns itself ends 32 spawns deep, also when each runs in another process', async (t) => {
  const { engine, claim, another } = await rig(t);
  await engine.push(CHILD);
  let depth = 0;
  for (;;) {
    const here = depth % 2 === 0 ? engine : another();
    const { task, attempt, spec } = await claim(here);
    // Over a wire a lease has its two numbers only.
    const parent = depth % 3 === 0 ? { task, attempt } : { task, attempt, spec };
    const error = await spawn(here, parent).then(
      () => undefined,
      (reason: unknown) => (reason as Error).message,
    );
    if (error !== undefined) {
      assert.match(error, /33 spawns deep/);
      break;
    }
    depth++;
  }
  assert.equal(depth, MAX_DEPTH);
  assert.equal((await engine.queues())[0]?.stats.ready, 0, 'what was refused is not there');
});

test('a pushed task has depth 0, beside a spawned one', async (t) => {
  const { engine, claim } = await rig(t);
  await engine.push(CHILD);
  const first = await claim();
  await spawn(engine, first);
  await engine.push({ ...CHILD, queue: 'r' });
  const specs = (await Promise.all([claim(), claim()])).map(({ spec }) => spec);
  assert.notEqual(specs[0], specs[1]);
  assert.ok(specs.includes(first.spec));
});

test('a task spawns at most 10,000 children, however many at once; a repeat is the same child', async (t) => {
  const { engine, claim } = await rig(t);
  await engine.push(CHILD);
  const parent = await claim();
  const bear = (n: number): Promise<boolean> =>
    spawn(engine, parent, CHILD, `spawn:${n}`).then(
      () => true,
      (error: unknown) => {
        assert.match(String(error), /at most 10000 children/);
        return false;
      },
    );
  assert.ok((await Promise.all(Array.from({ length: 100 }, () => bear(0)))).every(Boolean));
  const answers = await Promise.all(Array.from({ length: MAX_CHILDREN + 50 }, (_, n) => bear(n + 1)));
  assert.equal(answers.filter(Boolean).length, MAX_CHILDREN - 1);
  assert.equal((await engine.queues())[0]?.stats.ready, MAX_CHILDREN);
});

test('children of earlier attempts are counted by the process that takes over', async (t) => {
  const { engine, claim, another } = await rig(t);
  await engine.push(CHILD);
  const parent = await claim();
  for (let n = 0; n < 3; n++) await spawn(engine, parent);
  await engine.release(parent);
  const next = await claim();
  const list = t.mock.method(engine.store, 'journalList');
  const other = another();
  await spawn(other, next);
  await spawn(other, next);
  assert.deepEqual(
    list.mock.calls.map((call) => call.arguments[0]),
    [{ task: parent.task }],
    'once for each parent',
  );
});

test('a child that is refused is not counted', async (t) => {
  const { engine, claim } = await rig(t);
  await engine.push(CHILD);
  const parent = await claim();
  for (let n = 0; n < 3; n++) await assert.rejects(spawn(engine, parent, { queue: '', handler: 'h' }));
  const answers = await Promise.allSettled(
    Array.from({ length: MAX_CHILDREN }, (_, n) => spawn(engine, parent, CHILD, `${n}`)),
  );
  assert.ok(answers.every(({ status }) => status === 'fulfilled'));
});

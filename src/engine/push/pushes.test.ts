import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../store/conformance/kit/snapshot.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { DutyTenure, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from './push.ts';

const folder = tempFolder('pushes');
const TASK = { queue: 'mail', handler: 'send' } as const;

interface Rig {
  readonly store: Store;
  readonly engine: Engine;
  readonly worker: number;
  /** Makes due tasks ready, after `ms`. */
  readonly stageAfter: (ms: number) => Promise<number>;
}

/** An engine on a store in memory, whose invariants are checked when the test is over. */
async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(async () => {
    checkBooks(await lookAt(store));
    await store.close();
  });
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const duty = (await store.dutyTake({ name: 'stager', holder: 'test', ttlMs: 86_400_000 })) as DutyTenure;
  const stageAfter = async (ms: number): Promise<number> => {
    await world.advance(ms);
    const { staged } = await store.taskStage({ duty, limit: 100 });
    engine.hint();
    return staged;
  };
  return { store, engine, worker, stageAfter };
}

test('a public id leads back to its task, and only in its own cluster', async (t) => {
  const { engine } = await rig(t);
  const { id, task, createdAt } = await engine.push(TASK);
  assert.match(id, /^task_[0-9a-f-]{36}$/);
  assert.equal(engine.parseId(id), task);
  assert.equal(engine.idOf({ task, createdAt }), id);
  const other = await rig(t);
  for (const text of [id.toUpperCase(), `${id}0`, 'task_1', '']) {
    assert.throws(
      () => engine.parseId(text),
      (error) => isEngineError(error, 'INVALID_ID'),
    );
  }
  assert.throws(
    () => other.engine.parseId(id),
    (error) => isEngineError(error, 'INVALID_ID'),
  );
});

test('many tasks are pushed in order, over several queues and policies', async (t) => {
  const { engine } = await rig(t);
  const requests = Array.from({ length: 2500 }, (_, n) => ({
    queue: `q${n % 3}`,
    handler: 'h',
    input: n,
    retry: { baseMs: (n % 2) * 1000 },
  }));
  const pushed = await engine.pushMany(requests);
  assert.equal(pushed.length, 2500);
  for (const n of [0, 1, 999, 1000, 2499]) {
    assert.equal((await engine.get(pushed[n]?.task ?? 0))?.payload, `${n}`);
  }
  assert.deepEqual(await engine.pushMany([]), []);
});

test('of many tasks all are checked before any is pushed', async (t) => {
  const { engine } = await rig(t);
  const bad = { ...TASK, priority: 1.5 };
  assert.equal(await refusal(engine.pushMany([TASK, bad, TASK])), 'INVALID_INPUT');
  assert.deepEqual(await engine.list({ limit: 10 }), []);
});

test('a bad push is refused with its field, as a rejection, and nothing is stored', async (t) => {
  const { engine } = await rig(t);
  const wrong: [string, object][] = [
    ['UNKNOWN_OPTION', { ...TASK, priorty: 1 }],
    ['INVALID_INPUT', { ...TASK, queue: 'Not A Name' }],
    ['INVALID_INPUT', { ...TASK, handler: '' }],
    ['INVALID_INPUT', { ...TASK, priority: 40_000 }],
    ['INVALID_INPUT', { ...TASK, maxAttempts: 0 }],
    ['INVALID_INPUT', { ...TASK, delay: 'soon' }],
    ['INVALID_INPUT', { ...TASK, runAt: -1 }],
    ['INVALID_INPUT', { ...TASK, delay: '1s', runAt: 5 }],
    ['INVALID_INPUT', { ...TASK, retry: { factor: 0 } }],
    ['INVALID_INPUT', { ...TASK, unique: '' }],
    ['INVALID_INPUT', { ...TASK, unique: { key: 'k', window: '8d' } }],
    ['INVALID_INPUT', { ...TASK, op: 'a\u0000b' }],
    ['INVALID_INPUT', { ...TASK, input: { n: 1n } }],
    ['TOO_LARGE', { ...TASK, input: 'x'.repeat(2_000_000) }],
  ];
  for (const [code, request] of wrong) {
    assert.equal(await refusal(engine.push(request as PushRequest)), code, JSON.stringify(Object.keys(request)));
  }
  assert.deepEqual(await engine.list({ limit: 10 }), []);
});

test('the same unique key and input lead to the same task, whatever the order of its keys', async (t) => {
  const { engine } = await rig(t);
  const first = await engine.push({ ...TASK, unique: 'order-1', input: { a: 1, b: [2] } });
  const again = await engine.push({ ...TASK, unique: { key: 'order-1', window: '1h' }, input: { b: [2], a: 1 } });
  assert.deepEqual([again.task, again.id, again.fresh], [first.task, first.id, false]);
});

test('the same unique key with another input or handler is refused with the task that holds it', async (t) => {
  const { engine } = await rig(t);
  const { task } = await engine.push({ ...TASK, unique: 'order-1', input: 1 });
  for (const other of [{ input: 2 }, { input: 1, handler: 'sort' }, {}]) {
    await assert.rejects(engine.push({ ...TASK, unique: 'order-1', ...other }), (error) => {
      assert.ok(isEngineError(error, 'UNIQUE_CONFLICT'));
      assert.deepEqual(error.details, { key: 'order-1', queue: 'mail', task });
      return true;
    });
  }
});

test('callers that push one key at the same time all get the same task', async (t) => {
  const { engine } = await rig(t);
  const pushed = await Promise.all(
    Array.from({ length: 40 }, () => engine.push({ ...TASK, unique: 'order-1', input: 1 })),
  );
  assert.equal(new Set(pushed.map(({ task }) => task)).size, 1);
  assert.equal(pushed.filter(({ fresh }) => fresh).length, 1);
});

test('a push that is repeated with its operation id gets the first answer', async (t) => {
  const { engine } = await rig(t);
  const first = await engine.push({ ...TASK, op: 'op-1' });
  assert.deepEqual(await engine.push({ ...TASK, op: 'op-1' }), { ...first, fresh: false });
});

test('a delayed task is scheduled and not claimable before its time', async (t) => {
  const { engine, worker, stageAfter } = await rig(t);
  const { task, state } = await engine.push({ ...TASK, delay: '1m30s' });
  assert.equal(state, 'scheduled');
  assert.equal(await stageAfter(89_999), 0);
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  assert.equal(await stageAfter(1), 1);
  assert.equal((await engine.claim({ worker, max: 1 }))[0]?.task, task);
});

test('a store without transactions of callers refuses a push into one', async (t) => {
  const { engine } = await rig(t);
  await assert.rejects(
    () => engine.pushIn({ prepare: () => undefined }, [TASK]),
    (error) => isEngineError(error, 'INVALID_INPUT'),
  );
});

test("tasks of the caller's own transaction exist when it commits, and a refused key undoes nothing by itself", async (t) => {
  const file = join(folder, 'work.db');
  const world = new VirtualWorld();
  const store = await openSqlite({ file, world, housekeeping: false });
  const db = new DatabaseSync(file);
  t.after(async () => {
    db.close();
    await store.close();
  });
  const engine = new Engine({ store, world });
  db.exec('BEGIN');
  const [one, two] = await engine.pushIn(db, [
    { ...TASK, input: 1 },
    { ...TASK, queue: 'other', delay: '1h', unique: 'k', retry: { baseMs: 5 } },
  ]);
  assert.ok(one && two);
  assert.deepEqual([one.state, two.state], ['ready', 'scheduled']);
  assert.equal(engine.parseId(one.id), one.task);
  assert.equal(await engine.get(one.task), undefined);
  await assert.rejects(
    () => engine.pushIn(db, [TASK, { ...TASK, queue: 'other', unique: 'k', input: 'else' }]),
    (error) => isEngineError(error, 'UNIQUE_CONFLICT') && error.details?.index === 1 && error.details.stored === 1,
  );
  await assert.rejects(
    () => engine.pushIn(db, [TASK, { ...TASK, queue: 'No Name' }]),
    (error) => isEngineError(error, 'INVALID_INPUT'),
  );
  db.exec('COMMIT');
  assert.equal((await engine.get(one.task))?.payload, '1');
  assert.equal((await engine.list({ limit: 10 })).length, 3);
  checkBooks(await lookAt(store));
});

test('one push that the store cannot take does not fail the others of its batch', async (t) => {
  const { engine, store } = await rig(t);
  await engine.push(TASK);
  const taskPush = store.taskPush.bind(store);
  store.taskPush = ({ items }) =>
    items.some(({ payload }) => payload === '"bad"') ? Promise.reject(new Error('a defect')) : taskPush({ items });
  const outcomes = await Promise.allSettled(['a', 'bad', 'c'].map((input) => engine.push({ ...TASK, input })));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal((await engine.stats('mail')).ready, 3);
});

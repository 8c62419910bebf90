import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';

const TASK: PushRequest = { queue: 'q', handler: 'h' };

interface Rig {
  readonly engine: Engine;
  readonly worker: number;
  readonly push: (more?: Partial<PushRequest>) => Promise<number>;
  /** Whether the worker gets it, or why not. */
  readonly acquire: (task: number, worker?: number) => Promise<string>;
  readonly found: (limit?: number) => Promise<readonly number[]>;
}

async function rig(
  t: TestContext,
  worker: { slots?: number; tags?: string[]; handlers?: string[] } = {},
): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const own = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8, handlers: ['h'], ...worker });
  return {
    engine,
    worker: own,
    push: async (more = {}) => (await engine.push({ ...TASK, ...more })).task,
    acquire: async (task, who = own) => {
      const answer = await engine.acquire(task, who);
      return answer.ok ? `attempt ${answer.grant.attempt}` : `${answer.why}: ${answer.reasons.join()}`;
    },
    found: async (limit) => (await engine.executable(own, limit)).map(({ task }) => task),
  };
}

test('tasks are found in the order of a claim, and finding them claims nothing', async (t) => {
  const { push, found, engine, worker } = await rig(t);
  const late = await push();
  const urgent = await push({ priority: 5 });
  const other = await push({ queue: 'other', priority: 3 });
  await push({ delay: '1h' });
  assert.deepEqual(await found(), [urgent, other, late]);
  assert.deepEqual(await found(2), [urgent, other]);
  assert.equal((await engine.get(urgent))?.state, 'ready');
  await assert.rejects(engine.executable(worker + 100), /worker/);
});

test('no task is found or given that placement keeps from the worker', async (t) => {
  const { push, found, acquire, engine } = await rig(t, { tags: ['gpu=nvidia'] });
  const any = await push();
  const fits = await push({ placement: { requires: ['gpu=nvidia'] } });
  for (const [more, reason] of [
    [{ handler: 'other' }, /handler other/],
    [{ placement: { requires: ['gpu=amd'] } }, /gpu=amd/],
    [{ placement: { requires: ['tpu'] } }, /tpu/],
    [{ placement: { only: ['v'] } }, /not among/],
    [{ placement: { only: ['w'], never: ['w'] } }, /excluded/],
  ] as const) {
    assert.match(await acquire(await push(more)), reason);
  }
  assert.deepEqual(await found(), [any, fits]);
  await engine.workers.set({ name: 'w', enabled: false });
  assert.deepEqual(await found(), []);
  assert.match(await acquire(any), /^unfit: is disabled/);
});

test('a worker gets no more such tasks at once than their placement allows', async (t) => {
  const { push, found, acquire, engine } = await rig(t);
  const placement = { maxPerWorker: 2 };
  const tasks = [await push({ placement }), await push({ placement }), await push({ placement })] as const;
  assert.equal((await found()).length, 3);
  assert.equal(await acquire(tasks[0]), 'attempt 1');
  assert.equal(await acquire(tasks[1]), 'attempt 1');
  assert.deepEqual(await found(), []);
  assert.match(await acquire(tasks[2]), /has 2 such tasks, of at most 2/);
  await engine.complete({ task: tasks[0], attempt: 1 });
  assert.deepEqual(await found(), [tasks[2]]);
  const raced = await Promise.all([acquire(tasks[2]), push({ placement }).then((task) => acquire(task))]);
  assert.equal(raced.filter((answer) => answer === 'attempt 1').length, 1, raced.join('; '));
});

test('a task that waits, runs, has ended, is paused or has no room in its limit is not given', async (t) => {
  const { push, acquire, found, engine, worker } = await rig(t);
  const [first, second] = await engine.pushGraph([
    { ...TASK, name: 'a' },
    { ...TASK, after: ['a'] },
  ]);
  assert.match(await acquire(second?.task as number), /^waits: it waits for 1/);
  assert.match(await acquire(await push({ delay: '1h' })), /^waits: it is not due/);
  assert.equal(await acquire(first?.task as number), 'attempt 1');
  assert.match(await acquire(first?.task as number), /^taken/);
  await engine.complete({ task: first?.task as number, attempt: 1 });
  assert.match(await acquire(first?.task as number), /^ended: it has ended: completed/);
  assert.equal(await acquire(second?.task as number), 'attempt 1');
  const paused = await push({ queue: 'p' });
  await engine.pause('p');
  assert.match(await acquire(paused), /^held: its queue p is paused/);
  await engine.limits.set('api', { concurrent: 1 });
  const [one, two] = [await push({ limits: ['api'] }), await push({ limits: ['api'] })];
  assert.deepEqual(await found(), [one, two]);
  assert.equal(await acquire(one), 'attempt 1');
  assert.match(await acquire(two), /^held: the limit api/);
  assert.deepEqual(await found(), []);
  assert.match(await acquire(4711), /^gone/);
  assert.match(await acquire(two, worker + 100), /^lost/);
});

test('a worker whose slots are full finds nothing and gets nothing', async (t) => {
  const { push, acquire, found } = await rig(t, { slots: 1 });
  const [one, two] = [await push(), await push()];
  assert.deepEqual(await found(), [one], 'no more than it has room for');
  assert.equal(await acquire(one), 'attempt 1');
  assert.deepEqual(await found(), []);
  assert.match(await acquire(two), /all its 1 slots full/);
});

test('of many that ask for one task one gets it', async (t) => {
  const { push, acquire, engine } = await rig(t);
  const other = await engine.workers.register({ name: 'v', incarnation: 'j', slots: 8, handlers: ['h'] });
  const task = await push();
  const answers = await Promise.all([...Array(10)].map((_, i) => acquire(task, i % 2 === 0 ? undefined : other)));
  assert.equal(answers.filter((answer) => answer === 'attempt 1').length, 1);
  assert.equal(answers.filter((answer) => answer.startsWith('taken')).length, 9);
});

test('a token that has ended gets nothing any more, although its worker is online', async (t) => {
  const { push, engine, worker } = await rig(t);
  const { store } = engine;
  const make = (digit: string, name: string): Promise<{ readonly id: number }> =>
    store.tokenAdd({
      token: { kind: 'secret', role: 'worker', name, prefix: digit, by: 'ada', hash: digit.repeat(64) },
      replaces: undefined,
    });
  const [good, ended] = [await make('a', 'w'), await make('b', 'v')];
  await store.tokenRevoke({ id: ended.id });
  const task = await push();
  assert.deepEqual(await engine.acquire(task, worker, { token: ended.id }), {
    ok: false,
    why: 'taken',
    reasons: ['another worker was faster, or this worker has changed'],
  });
  assert.equal((await engine.get(task))?.attempt, 0);
  assert.equal((await engine.acquire(task, worker, { token: good.id })).ok, true);
});

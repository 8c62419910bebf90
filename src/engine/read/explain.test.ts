import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant, NewWorker } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import type { Explanation } from './explain.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly worker: (name: string, more?: Partial<NewWorker>) => Promise<number>;
  readonly push: (more?: Partial<PushRequest>) => Promise<number>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  let workers = 0;
  return {
    world,
    engine,
    worker: (name, more = {}) => engine.workers.register({ name, incarnation: `i${++workers}`, slots: 2, ...more }),
    push: async (more = {}) => (await engine.push({ queue: 'mail', handler: 'send', ...more })).task,
  };
}

const reasonsOf = ({ workers }: Explanation): Record<string, readonly string[]> =>
  Object.fromEntries(workers.map(({ name, reasons }) => [name, reasons]));

test('a task without any worker is explained so', async (t) => {
  const { engine, push } = await rig(t);
  const told = await engine.explain(await push());
  assert.equal(told.summary, 'No worker is online.');
  assert.equal(told.runnable, false);
});

test('each worker is listed with all its reasons, and the sentence counts them', async (t) => {
  const { engine, worker, push } = await rig(t);
  await worker('plain');
  await worker('old', { tags: ['gpu'], version: '1.0.0' });
  await worker('off', { tags: ['gpu', 'credential:hf'], version: '2.1.0' });
  await worker('other', { queues: ['post'], handlers: ['sort'] });
  await engine.workers.set({ name: 'off', enabled: false });
  const task = await push({ placement: { requires: ['gpu'], credentials: ['hf'], version: '>=2', never: ['other'] } });
  const told = await engine.explain(task);
  assert.deepEqual(reasonsOf(told), {
    plain: ['lacks the credential hf', 'lacks the tag gpu', 'has version unknown, wanted >=2.0.0'],
    old: ['lacks the credential hf', 'has version 1.0.0, wanted >=2.0.0'],
    off: ['is disabled'],
    other: [
      'is excluded by the task',
      'does not serve the queue mail',
      'does not offer the handler send',
      'lacks the credential hf',
      'lacks the tag gpu',
      'has version unknown, wanted >=2.0.0',
    ],
  });
  assert.match(told.summary, /^No worker can run the task now: lacks the credential hf \(3 of 4\);/);
  assert.equal(told.runnable, false);
});

test('a task that can run names the workers that may take it', async (t) => {
  const { engine, worker, push } = await rig(t);
  await worker('a');
  const told = await engine.explain(await push());
  assert.equal(told.summary, 'The task can run now: a may take it.');
  assert.equal(told.runnable, true);
});

test('full workers are listed, and so is the bound of similar tasks', async (t) => {
  const { engine, worker, push } = await rig(t);
  const full = await worker('full', { slots: 1 });
  const bound = await worker('bound', { slots: 5 });
  const placement = { maxPerWorker: 1 };
  await push({ placement });
  await push({ placement });
  assert.equal((await engine.claim({ worker: full, max: 1 })).length, 1);
  assert.equal((await engine.claim({ worker: bound, max: 1 })).length, 1);
  const told = await engine.explain(await push({ placement }));
  assert.deepEqual(reasonsOf(told), {
    full: ['has all its 1 slots full', 'has 1 such tasks, of at most 1'],
    bound: ['has 1 such tasks, of at most 1'],
  });
});

test('a limit that blocks it is listed with its holders, and with the time that alone makes room', async (t) => {
  const { engine, worker, push, world } = await rig(t);
  const box = await worker('box', { slots: 9 });
  await engine.limits.set('api', { perKey: 1, rate: { max: 6, window: '1m', burst: 2, perKey: true } });
  const limits = [{ name: 'api', key: 'ann' }];
  const first = await push({ limits });
  const second = await push({ limits });
  const [grant] = await engine.claim({ worker: box, max: 1 });
  const holder = engine.idOf(grant as Grant);
  const full = await engine.explain(second);
  assert.equal(full.summary, 'The limit api for ann is full: 1 of 1 are in use.');
  assert.deepEqual(
    full.limits.map(({ key, used, cap, holders, open }) => ({ key, used, cap, holders, open })),
    [
      { key: undefined, used: 1, cap: undefined, holders: [holder], open: true },
      { key: 'ann', used: 1, cap: 1, holders: [holder], open: false },
    ],
  );
  await engine.complete(grant as Grant);
  assert.equal((await engine.explain(second)).runnable, true);
  const [again] = await engine.claim({ worker: box, max: 1 });
  await engine.complete(again as Grant);
  const third = await engine.explain(await push({ limits }));
  assert.match(third.summary, /^The limit api for ann lets nothing start before 2026-01-05T12:00:\d\d/);
  assert.ok((third.limits[1]?.freesAt ?? 0) > world.clock.wall());
  assert.ok(first > 0);
});

test('a paused queue, a future time and a backoff are explained as such', async (t) => {
  const { engine, worker, push } = await rig(t);
  const box = await worker('box');
  const later = await push({ delay: '1h' });
  assert.match((await engine.explain(later)).summary, /^The task does not run: it is not due until 2026-01-05T13:00/);
  const failing = await push({ retry: { baseMs: 60_000, jitter: 0 } });
  const [grant] = await engine.claim({ worker: box, max: 1 });
  await engine.fail(grant as Grant, 'no');
  assert.match((await engine.explain(failing)).summary, /it was tried before and waits until 2026-01-05T12:01/);
  const held = await push();
  await engine.pause('mail');
  assert.equal((await engine.explain(held)).summary, 'The task does not run: its queue mail is paused.');
});

test('running and ended tasks need no reasons', async (t) => {
  const { engine, worker, push } = await rig(t);
  const box = await worker('box');
  const task = await push();
  const [grant] = await engine.claim({ worker: box, max: 1 });
  assert.equal((await engine.explain(task)).summary, 'The task is running on box.');
  await engine.fail(grant as Grant, 'no', { giveUp: true });
  const ended = await engine.explain(task);
  assert.equal(ended.summary, 'The task has ended: failed (gave_up).');
  assert.deepEqual([ended.workers, ended.limits, ended.reasons], [[], [], []]);
});

test('the dependencies of a task are listed also when it waits no more', async (t) => {
  const { engine, worker } = await rig(t);
  const box = await worker('box');
  const [up, down] = await engine.pushGraph([
    { queue: 'mail', handler: 'send', name: 'up' },
    { queue: 'mail', handler: 'send', name: 'down', after: ['up'] },
  ]);
  assert.ok(up && down);
  const statesOf = async (): Promise<readonly unknown[]> => {
    const { state, dependencies } = await engine.explain(down.task);
    return [state, dependencies.map((one) => one.state)];
  };
  assert.deepEqual(await statesOf(), ['waiting', ['ready']]);
  for (const [then, after] of [
    ['ready', ['completed']],
    ['completed', ['completed']],
  ] as const) {
    const [grant] = await engine.claim({ worker: box, max: 1 });
    await engine.complete(grant as Grant, 'done');
    assert.deepEqual(await statesOf(), [then, after]);
  }
});

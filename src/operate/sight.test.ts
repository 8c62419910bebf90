import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openNode } from '../app/node.ts';
import { operate } from '../app/operate.ts';
import type { Engine } from '../engine/engine.ts';
import { refusal } from '../store/conformance/scene.ts';
import { tempFolder } from '../store/conformance/temp-folder.ts';
import type { Operator, Told } from './sight.ts';

const folder = tempFolder('operate');
let stores = 0;

interface Scene {
  readonly url: string;
  /** The engine of another process, as it were: a connection of its own. */
  readonly engine: Engine;
  readonly worker: number;
  readonly operator: Operator;
}

async function scene(t: TestContext): Promise<Scene> {
  stores += 1;
  const url = `sqlite:${join(folder, `${stores}.db`)}`;
  const node = await openNode(url, { duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.registerWorker({ name: 'laptop', incarnation: `i${stores}`, slots: 4 });
  const operator = await operate({ store: url });
  t.after(async () => {
    await operator.close();
    await node.close();
  });
  return { url, engine, worker, operator };
}

test('a store that does not exist is made only for who asks for it', async () => {
  const file = join(folder, 'none', 'x.db');
  assert.equal(await refusal(operate({ store: `sqlite:${file}` })), 'NOT_FOUND');
  assert.equal(existsSync(file), false);
  const operator = await operate({ store: `sqlite:${file}`, create: true });
  assert.ok(existsSync(file));
  await operator.close();
});

test('a store in memory and an unknown kind of store are refused', async () => {
  assert.equal(await refusal(operate({ store: 'memory:', create: true })), 'INVALID_INPUT');
  assert.equal(await refusal(operate({ store: 'mysql://x' })), 'INVALID_INPUT');
});

test('a task is found by its public id and by its number; an id of elsewhere is refused', async (t) => {
  const { operator } = await scene(t);
  const [pushed] = await operator.push([{ queue: 'q', handler: 'h', input: { a: 1 } }]);
  assert.ok(pushed);
  const byId = await operator.task(pushed.id);
  assert.deepEqual(byId, await operator.task(String(pushed.task)));
  assert.deepEqual([byId.id, byId.state, byId.input], [pushed.id, 'ready', { a: 1 }]);
  assert.equal(await refusal(operator.task('99')), 'NOT_FOUND');
  assert.throws(() => operator.numberOf('task_nonsense'), { code: 'INVALID_ID' });
  assert.throws(() => operator.numberOf('0'), { code: 'INVALID_ID' });
});

test('lists are cut to their limit over all queues that are asked for, the newest first', async (t) => {
  const { operator } = await scene(t);
  await operator.push(Array.from({ length: 1200 }, (_, i) => ({ queue: `q${i % 3}`, handler: 'h', input: i })));
  const inputs = async (queues: readonly string[], limit: number): Promise<readonly unknown[]> =>
    (await operator.list({ queues, states: ['ready'], limit })).map(({ input }) => input);
  assert.deepEqual(await inputs([], 3), [1199, 1198, 1197]);
  assert.deepEqual(await inputs(['q0', 'q2'], 4), [1199, 1197, 1196, 1194]);
  assert.equal((await inputs([], 10_000)).length, 1200, 'over several pages');
  assert.deepEqual(await operator.list({ queues: [], states: ['failed'], limit: 5 }), []);
});

test('the detail of a task has its attempts, its last progress and who could run it', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const { id } = await engine.push({ queue: 'q', handler: 'h', retry: { baseMs: 0 }, maxAttempts: 2 });
  for (const n of [1, 2]) {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    await engine.appendLog(grant, [{ seq: 1, at: 5, stream: 'progress', text: `{"done":${n}}` }]);
    await engine.fail(grant, new Error(`no ${n}`));
  }
  const detail = await operator.detail(id);
  assert.deepEqual([detail.state, detail.reason, detail.tries, detail.worker], ['failed', 'exhausted', 2, 'laptop']);
  assert.deepEqual(detail.progress, { done: 2 });
  assert.deepEqual(
    detail.attempts.map(({ attempt, outcome, error }) => [attempt, outcome, (error as Error).message]),
    [
      [1, 'retried', 'no 1'],
      [2, 'failed', 'no 2'],
    ],
  );
  assert.equal((detail.error as Error).message, 'no 2');
  assert.deepEqual([detail.queuePaused, detail.workersForIt], [false, 1]);
});

test('a task that waits says why in one sentence, and is explained in full by its id or number', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const { id, task } = await engine.push({ queue: 'q', handler: 'h', placement: { requires: ['gpu'] } });
  const { summary, runnable, placement } = await operator.detail(id);
  assert.match(summary ?? '', /lacks the tag gpu/);
  assert.deepEqual([runnable, placement], [false, { requires: ['gpu'] }]);
  const why = await operator.explain(String(task));
  assert.deepEqual(why, await operator.explain(id));
  assert.deepEqual(why.workers, [{ name: 'laptop', eligible: false, reasons: ['lacks the tag gpu'] }]);
  const plain = await engine.push({ queue: 'q', handler: 'h' });
  assert.equal((await operator.detail(plain.id)).runnable, true);
  await engine.claim({ worker, max: 1 });
  assert.equal((await operator.detail(plain.id)).summary, undefined, 'it runs');
  assert.equal(await refusal(operator.explain('99')), 'NOT_FOUND');
});

test('a task is shown with where it may run, what it takes of limits and whose turn it uses', async (t) => {
  const { engine, operator } = await scene(t);
  await engine.setLimit('api', { concurrent: 5 });
  await engine.push({
    queue: 'q',
    handler: 'h',
    placement: { never: ['spot'] },
    limits: [{ name: 'api', key: 'alice', weight: 2 }],
    fairness: 'alice',
  });
  await engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  await engine.push({ queue: 'q', handler: 'h' });
  const shown = await operator.list({ queues: [], states: [], limit: 5 });
  assert.deepEqual(
    shown.map(({ placement, limits, fairness }) => ({ placement, limits, fairness })),
    [
      { placement: undefined, limits: undefined, fairness: undefined },
      { placement: undefined, limits: [{ name: 'api' }], fairness: undefined },
      {
        placement: { never: ['spot'] },
        limits: [{ name: 'api', key: 'alice', weight: 2 }],
        fairness: { key: 'alice', weight: 1 },
      },
    ],
  );
});

test('the end of a lease is told in calendar time', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const { id } = await engine.push({ queue: 'q', handler: 'h' });
  const before = Date.now();
  await engine.claim({ worker, max: 1, leaseMs: '1m' });
  const { leaseExpiresAt = 0, startedAt = 0 } = await operator.detail(id);
  assert.ok(Math.abs(leaseExpiresAt - (startedAt + 60_000)) < 2000, `${leaseExpiresAt - startedAt}`);
  assert.ok(startedAt >= before - 1);
});

test('cancel and retry answer for each task', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const pushed = await operator.push(Array.from({ length: 3 }, () => ({ queue: 'q', handler: 'h' })));
  const [first, second, third] = pushed.map(({ task }) => task) as [number, number, number];
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.equal(grant?.task, first);
  assert.deepEqual(await operator.cancel([first, second, 99]), ['requested', 'cancelled', 'unknown']);
  assert.deepEqual(await operator.cancel([second]), ['finished']);
  assert.deepEqual(await operator.retry([first, second, third, 99]), ['running', 'again', 'ready', 'unknown']);
});

test('what waits is cancelled and what runs is spared', async (t) => {
  const { engine, worker, operator } = await scene(t);
  await operator.push(Array.from({ length: 600 }, () => ({ queue: 'q', handler: 'h' })));
  await engine.claim({ worker, max: 2 });
  const all = await Array.fromAsync(operator.find('q', ['ready', 'running']));
  const answers = await operator.cancelWaiting(all.flat());
  assert.deepEqual([answers.length, new Set(answers)], [598, new Set(['cancelled'])]);
  const { ready, running, cancelled } = await operator.queue('q');
  assert.deepEqual([ready, running, cancelled], [0, 2, 598]);
});

test('a queue is made by a pause, and by nothing that only asks for it', async (t) => {
  const { operator } = await scene(t);
  assert.equal(await refusal(operator.queue('q')), 'NOT_FOUND');
  assert.equal(await refusal(operator.resume('q')), 'NOT_FOUND');
  await operator.pause('q');
  assert.equal((await operator.queue('q')).paused, true);
  await operator.resume('q');
  assert.equal((await operator.queue('q')).paused, false);
});

test('workers are shown with what they run', async (t) => {
  const { engine, worker, operator } = await scene(t);
  await operator.push(Array.from({ length: 3 }, () => ({ queue: 'q', handler: 'h' })));
  await engine.claim({ worker, max: 2 });
  const [shown] = await operator.workers();
  assert.deepEqual([shown?.name, shown?.slots, shown?.running, shown?.enabled], ['laptop', 4, 2, true]);
  assert.match(shown?.id ?? '', /^wrk_/);
  assert.ok(Math.abs((shown?.lastSeenAt ?? 0) - Date.now()) < 60_000);
});

function say(told: Told): string {
  if (told.kind === 'state') return told.state;
  return told.kind === 'log' ? told.line.text : `end ${JSON.stringify(told.task?.result)}`;
}

test('a follower hears states, logs and the end of each task, in that order, and then is done', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const after = await operator.now();
  const [pushed] = await operator.push([{ queue: 'q', handler: 'h' }]);
  assert.ok(pushed);
  const heard: string[] = [];
  const following = (async () => {
    for await (const told of operator.follow([pushed.task], { after, signal: new AbortController().signal })) {
      heard.push(say(told));
      assert.equal(told.id, pushed.id);
      if (heard.length !== 1) continue;
      const [grant] = await engine.claim({ worker, max: 1 });
      assert.ok(grant);
      await engine.appendLog(grant, [
        { seq: 1, at: 1, stream: 'stdout', text: 'one' },
        { seq: 2, at: 2, stream: 'stderr', text: 'two' },
      ]);
      await engine.complete(grant, 42);
    }
  })();
  await following;
  assert.deepEqual(
    heard.filter((word) => ['one', 'two'].includes(word)),
    ['one', 'two'],
  );
  assert.deepEqual(heard, ['ready', 'running', 'one', 'two', 'completed', 'end 42']);
});

test('who follows a task that was faster than the look at it hears the same', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const after = await operator.now();
  const [pushed] = await operator.push([{ queue: 'q', handler: 'h' }]);
  assert.ok(pushed);
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  await engine.appendLog(grant, [{ seq: 1, at: 1, stream: 'stdout', text: 'one' }]);
  await engine.complete(grant, 42);
  const heard: string[] = [];
  for await (const told of operator.follow([pushed.task], { after, signal: new AbortController().signal })) {
    heard.push(say(told));
  }
  assert.deepEqual(heard, ['ready', 'running', 'one', 'completed', 'end 42']);
});

test('who follows a task that has ended hears of its end at once, and a signal ends the following', async (t) => {
  const { operator } = await scene(t);
  const [ended, waiting] = await operator.push([
    { queue: 'q', handler: 'h' },
    { queue: 'q', handler: 'h' },
  ]);
  assert.ok(ended && waiting);
  await operator.cancel([ended.task]);
  const after = await operator.now();
  const stop = new AbortController();
  const kinds: string[] = [];
  for await (const { kind } of operator.follow([ended.task, waiting.task], { after, signal: stop.signal })) {
    kinds.push(kind);
    stop.abort();
  }
  assert.deepEqual(kinds, ['ended']);
});

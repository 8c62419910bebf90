import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openNode } from '../app/node.ts';
import { operate } from '../app/operate.ts';
import type { Engine } from '../engine/engine.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { cancelOne, eachOf, listTasks, requireTask, retryOne } from './calls/calls.ts';
import { type FollowNotice, follow } from './calls/follow.ts';
import { pushOne, pushSeveral } from './calls/push-calls.ts';
import type { EngineOperator } from './engine-operator.ts';

const folder = tempFolder('operate');
let stores = 0;

interface Scene {
  readonly url: string;
  /** The engine of another process, as it were: a connection of its own. */
  readonly engine: Engine;
  readonly worker: number;
  readonly operator: EngineOperator;
}

async function scene(t: TestContext): Promise<Scene> {
  stores += 1;
  const url = `sqlite:${join(folder, `${stores}.db`)}`;
  const node = await openNode(url, { duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'laptop', incarnation: `i${stores}`, slots: 4 });
  const operator = await operate({ store: url });
  t.after(async () => {
    await operator.close();
    await node.close();
  });
  return { url, engine, worker, operator };
}

const detailOf = (operator: EngineOperator, id: string) => operator.call('getTask', { params: { id } });
const explain = (operator: EngineOperator, id: string) => operator.call('explainTask', { params: { id } });

test('a task is found by its public id and by its number; an id of elsewhere is refused', async (t) => {
  const { operator } = await scene(t);
  const pushed = await pushOne(operator, { queue: 'q', handler: 'h', input: { a: 1 } });
  const byId = await requireTask(operator, pushed.id);
  assert.deepEqual(byId, await requireTask(operator, String(operator.engine.parseId(pushed.id))));
  assert.deepEqual([byId.id, byId.state, byId.input], [pushed.id, 'ready', { a: 1 }]);
  assert.equal(await refusal(requireTask(operator, '99')), 'NOT_FOUND');
  assert.equal(await refusal(requireTask(operator, 'task_nonsense')), 'INVALID_ID');
  assert.equal(await refusal(requireTask(operator, '0')), 'INVALID_ID');
});

test('lists are cut to their limit over all queues that are asked for, the newest first', async (t) => {
  const { operator } = await scene(t);
  await pushSeveral(
    operator,
    Array.from({ length: 1200 }, (_, i) => ({ queue: `q${i % 3}`, handler: 'h', input: i })),
  );
  const inputs = async (queues: readonly string[], limit: number): Promise<readonly unknown[]> =>
    (await listTasks(operator, { queue: queues, state: ['ready'] }, limit)).map(({ input }) => input);
  assert.deepEqual(await inputs([], 3), [1199, 1198, 1197]);
  assert.deepEqual(await inputs(['q0', 'q2'], 4), [1199, 1197, 1196, 1194]);
  assert.equal((await inputs([], 10_000)).length, 1200, 'over several pages');
  assert.deepEqual(await listTasks(operator, { state: ['failed'] }, 5), []);
});

test('the detail of a task has its attempts, its last progress and who could run it', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const { id } = await engine.push({ queue: 'q', handler: 'h', retry: { baseMs: 0 }, maxAttempts: 2 });
  for (const n of [1, 2]) {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    await engine.logs.append(grant, [{ seq: 1, at: 5, stream: 'progress', text: `{"done":${n}}` }]);
    await engine.fail(grant, new Error(`no ${n}`));
  }
  const detail = await detailOf(operator, id);
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
  const { summary, runnable, placement } = await detailOf(operator, id);
  assert.match(summary ?? '', /lacks the tag gpu/);
  assert.deepEqual([runnable, placement], [false, { requires: ['gpu'] }]);
  const why = await explain(operator, String(task));
  assert.deepEqual(why, await explain(operator, id));
  assert.deepEqual(why.workers, [{ name: 'laptop', eligible: false, reasons: ['lacks the tag gpu'] }]);
  const plain = await engine.push({ queue: 'q', handler: 'h' });
  assert.equal((await detailOf(operator, plain.id)).runnable, true);
  await engine.claim({ worker, max: 1 });
  assert.equal((await detailOf(operator, plain.id)).summary, undefined, 'it runs');
  assert.equal(await refusal(explain(operator, '99')), 'NOT_FOUND');
});

test('a task is shown with where it may run, what it takes of limits and whose turn it uses', async (t) => {
  const { engine, operator } = await scene(t);
  await engine.limits.set('api', { concurrent: 5 });
  await engine.push({
    queue: 'q',
    handler: 'h',
    placement: { never: ['spot'] },
    limits: [{ name: 'api', key: 'alice', weight: 2 }],
    fairness: 'alice',
  });
  await engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  await engine.push({ queue: 'q', handler: 'h' });
  const shown = await listTasks(operator, {}, 5);
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
  const { leaseExpiresAt = 0, startedAt = 0 } = await detailOf(operator, id);
  assert.ok(Math.abs(leaseExpiresAt - (startedAt + 60_000)) < 2000, `${leaseExpiresAt - startedAt}`);
  assert.ok(startedAt >= before - 1);
});

test('cancel and retry answer for each task', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const pushed = await pushSeveral(
    operator,
    Array.from({ length: 3 }, () => ({ queue: 'q', handler: 'h' })),
  );
  const [first, second, third] = pushed.map(({ id }) => id) as [string, string, string];
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.equal(grant?.task, engine.parseId(first));
  assert.deepEqual(await eachOf(operator, [first, second, '99'], cancelOne), ['requested', 'cancelled', 'unknown']);
  assert.deepEqual(await eachOf(operator, [second], cancelOne), ['finished']);
  assert.deepEqual(await eachOf(operator, [first, second, third, '99'], retryOne), [
    'running',
    'again',
    'ready',
    'unknown',
  ]);
});

test('an id that is none is refused before anything is changed', async (t) => {
  const { operator } = await scene(t);
  const { id } = await pushOne(operator, { queue: 'q', handler: 'h' });
  assert.equal(await refusal(eachOf(operator, [id, 'task_nonsense'], cancelOne)), 'INVALID_ID');
  assert.equal((await requireTask(operator, id)).state, 'ready');
});

test('what waits is cancelled and what runs is spared', async (t) => {
  const { engine, worker, operator } = await scene(t);
  await pushSeveral(
    operator,
    Array.from({ length: 600 }, () => ({ queue: 'q', handler: 'h' })),
  );
  await engine.claim({ worker, max: 2 });
  const params = { queue: 'q' };
  const { cancelled: count, asked } = await operator.call('purgeQueue', { params, body: { expected: 598 } });
  assert.deepEqual([count, asked], [598, 0]);
  const { ready, running, cancelled } = await operator.call('getQueue', { params });
  assert.deepEqual([ready, running, cancelled], [0, 2, 598]);
});

const QUEUE = { params: { queue: 'q' } };

test('a queue is made by a pause, and by nothing that only asks for it', async (t) => {
  const { operator } = await scene(t);
  assert.equal(await refusal(operator.call('getQueue', QUEUE)), 'NOT_FOUND');
  assert.equal(await refusal(operator.call('resumeQueue', QUEUE)), 'NOT_FOUND');
  await operator.call('pauseQueue', QUEUE);
  assert.equal((await operator.call('getQueue', QUEUE)).paused, true);
  await operator.call('resumeQueue', QUEUE);
  assert.equal((await operator.call('getQueue', QUEUE)).paused, false);
});

test('workers are shown with what they run', async (t) => {
  const { engine, worker, operator } = await scene(t);
  for (let i = 0; i < 3; i += 1) await engine.push({ queue: 'q', handler: 'h' });
  await engine.claim({ worker, max: 2 });
  const [shown] = (await operator.call('listWorkers')).workers;
  assert.deepEqual([shown?.name, shown?.slots, shown?.running, shown?.enabled], ['laptop', 4, 2, true]);
  assert.match(shown?.id ?? '', /^wrk_/);
  assert.ok(Math.abs((shown?.lastSeenAt ?? 0) - Date.now()) < 60_000);
});

function say(notice: FollowNotice): string {
  if (notice.kind === 'state') return notice.state;
  return notice.kind === 'log' ? notice.line.text : `end ${JSON.stringify(notice.task?.result)}`;
}

test('a follower hears states, logs and the end of each task, in that order, and then is done', async (t) => {
  const { engine, worker, operator } = await scene(t);
  const { last: after } = await operator.call('readEvents');
  const pushed = await pushOne(operator, { queue: 'q', handler: 'h' });
  const heard: string[] = [];
  const following = (async () => {
    for await (const notice of follow(operator, [pushed.id], { after, signal: new AbortController().signal })) {
      heard.push(say(notice));
      assert.equal(notice.id, pushed.id);
      if (heard.length !== 1) continue;
      const [grant] = await engine.claim({ worker, max: 1 });
      assert.ok(grant);
      await engine.logs.append(grant, [
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
  const { last: after } = await operator.call('readEvents');
  const pushed = await pushOne(operator, { queue: 'q', handler: 'h' });
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  await engine.logs.append(grant, [{ seq: 1, at: 1, stream: 'stdout', text: 'one' }]);
  await engine.complete(grant, 42);
  const heard: string[] = [];
  for await (const notice of follow(operator, [pushed.id], { after, signal: new AbortController().signal })) {
    heard.push(say(notice));
  }
  assert.deepEqual(heard, ['ready', 'running', 'one', 'completed', 'end 42']);
});

test('who follows a task that has ended hears of its end at once, and a signal ends the following', async (t) => {
  const { operator } = await scene(t);
  const ended = await pushOne(operator, { queue: 'q', handler: 'h' });
  const waiting = await pushOne(operator, { queue: 'q', handler: 'h' });
  await cancelOne(operator, ended.id);
  const { last: after } = await operator.call('readEvents');
  const stop = new AbortController();
  const kinds: string[] = [];
  for await (const { kind } of follow(operator, [ended.id, waiting.id], { after, signal: stop.signal })) {
    kinds.push(kind);
    stop.abort();
  }
  assert.deepEqual(kinds, ['ended']);
});

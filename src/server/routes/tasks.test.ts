import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import type { TaskView } from '../../operate/views.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';

const TASKS = '/api/v1/tasks';

function push(scene: NodeScene, body: object): Promise<TaskView> {
  return scene.call('pushTasks', TASKS, { body });
}

/** Somebody who takes this task, as a worker would. */
async function claimed(scene: NodeScene, id: string): Promise<Grant> {
  const { engine } = scene;
  const worker = await engine.workers.register({ name: 'laptop', incarnation: `i-${id}`, slots: 4 });
  const [grant] = await engine.claim({ worker, max: 1, task: engine.parseId(id) });
  assert.ok(grant);
  return grant;
}

/** Wake-ups of this node work, its polls never come: whatever arrives came by a wake-up. */
function deafScene(t: TestContext): Promise<NodeScene> {
  return nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
}

test('one task is pushed and shown as it is, with everything that was said of it', async (t) => {
  const scene = await nodeScene(t);
  for (const name of ['api', 'disk'])
    await scene.call('createLimit', '/api/v1/limits', { body: { name, concurrent: 3 } });
  const plain = await push(scene, { queue: 'mail' });
  assert.deepEqual(
    [plain.queue, plain.handler, plain.state, plain.input, plain.priority, plain.attempt, plain.tries],
    ['mail', 'mail', 'ready', null, 0, 0, 0],
  );
  const full = await push(scene, {
    queue: 'mail',
    handler: 'send:now',
    input: { to: ['ada', { deep: [1.5, null, true, 'ü \u2028 "'] }] },
    priority: 7,
    delay: '1h',
    maxAttempts: 9,
    retry: { baseMs: '1s', factor: 3 },
    timeout: '5m',
    waitTimeout: 60_000,
    unique: { key: 'k', window: '1h' },
    placement: { requires: ['gpu>=1'], never: ['spot'], maxPerWorker: 2, prefer: [{ tag: 'ssd', weight: 3 }] },
    limits: ['disk', { name: 'api', key: 'ada', weight: 2 }],
    fairness: { key: 'ada', weight: 2 },
    reuse: { key: 'r', maxAge: '2h' },
  });
  assert.deepEqual(
    [full.handler, full.state, full.priority, full.maxAttempts, full.unique, full.input],
    ['send:now', 'scheduled', 7, 9, 'k', { to: ['ada', { deep: [1.5, null, true, 'ü \u2028 "'] }] }],
  );
  assert.deepEqual(new Set(full.limits), new Set([{ name: 'disk' }, { name: 'api', key: 'ada', weight: 2 }]));
  assert.deepEqual(full.fairness, { key: 'ada', weight: 2 });
  assert.deepEqual(full.placement?.requires, ['gpu>=1']);
  assert.equal(full.runAt, full.createdAt + 3_600_000);
  assert.deepEqual(await scene.call('getTask', `${TASKS}/${full.id}`).then(({ id, unique }) => [id, unique]), [
    full.id,
    'k',
  ]);
});

test('several are pushed in order', async (t) => {
  const scene = await nodeScene(t);
  const tasks = Array.from({ length: 40 }, (_, input) => ({ queue: `q${input % 3}`, input }));
  const answer = await scene.call('pushTasks', TASKS, { body: { tasks } });
  assert.deepEqual(
    answer.tasks.map(({ queue, input }: TaskView) => ({ queue, input })),
    tasks,
  );
  assert.equal(new Set(answer.tasks.map(({ id }: TaskView) => id)).size, 40);
});

test('a push of nothing says that a queue is missing', async (t) => {
  const scene = await nodeScene(t);
  for (const body of [{}, 'null', '']) {
    const answer = await scene.ask(TASKS, { body });
    assert.equal(answer.status, 400);
    assert.match(answer.body.error.message, /body\.queue/);
  }
});

test('when one of several is bad none is stored, whatever is bad about it', async (t) => {
  const scene = await nodeScene(t);
  await scene.call('createLimit', '/api/v1/limits', { body: { name: 'api', concurrent: 3 } });
  await push(scene, { queue: 'held', unique: 'k', input: 1 });
  for (const [status, code, bad] of [
    [400, 'INVALID_INPUT', { queue: 'NO GOOD NAME' }],
    [400, 'INVALID_INPUT', { queue: 'q', delay: '1h', runAt: 5 }],
    [400, 'INVALID_INPUT', { queue: 'q', priority: 1.5 }],
    [400, 'INVALID_INPUT', { queue: 'q', input: 'half \ud800' }],
    [400, 'INVALID_INPUT', { queue: 'q', placement: { requires: [''] } }],
    [413, 'TOO_LARGE', { queue: 'q', input: 'x'.repeat(1_100_000) }],
    [404, 'NOT_FOUND', { queue: 'q', limits: ['none'] }],
    [422, 'UNIQUE_CONFLICT', { queue: 'held', unique: 'k', input: 2 }],
  ] as const) {
    const good = Array.from({ length: 3 }, () => ({ queue: 'q' }));
    const answer = await scene.ask(TASKS, { body: { tasks: [...good, bad, ...good] } });
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], JSON.stringify(answer.body));
  }
  const twice = {
    tasks: [{ queue: 'q' }, { queue: 'q', unique: 'u', input: 1 }, { queue: 'q', unique: 'u', input: 2 }],
  };
  assert.equal((await scene.ask(TASKS, { body: twice })).status, 422);
  const { tasks } = await scene.call('listTasks', `${TASKS}?queue=q`);
  assert.deepEqual(tasks, []);
});

test('the same unique key and input lead to the same task, another input to 422', async (t) => {
  const scene = await nodeScene(t);
  const first = await push(scene, { queue: 'q', unique: 'k', input: { a: 1, b: 2 } });
  assert.equal((await push(scene, { queue: 'q', unique: 'k', input: { b: 2, a: 1 } })).id, first.id);
  const both = await scene.call('pushTasks', TASKS, {
    body: { tasks: [{ queue: 'q', unique: 'k', input: { a: 1, b: 2 } }, { queue: 'q' }] },
  });
  assert.equal(both.tasks[0].id, first.id);
  const twins = { tasks: [1, 2].map(() => ({ queue: 'q', unique: 'twin' })) };
  const { tasks } = await scene.call('pushTasks', TASKS, { body: twins });
  assert.deepEqual([tasks.length, tasks[0].id], [2, tasks[1].id]);
  const other = await scene.ask(TASKS, { body: { queue: 'q', unique: 'k', input: 3 } });
  assert.deepEqual([other.status, other.body.error.code], [422, 'UNIQUE_CONFLICT']);
});

test('a limit that takes no more refuses one task and each of several', async (t) => {
  const scene = await nodeScene(t);
  await scene.call('createLimit', '/api/v1/limits', { body: { name: 'api', concurrent: 1, backlog: 2 } });
  const one = { queue: 'q', limits: ['api'] };
  await scene.call('pushTasks', TASKS, { body: { tasks: [one, one] } });
  for (const body of [one, { tasks: [one, one] }]) {
    const answer = await scene.ask(TASKS, { body });
    assert.deepEqual([answer.status, answer.body.error.code], [429, 'LIMIT_REACHED']);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
});

test('pages lead through all tasks, newest first, without gap or repeat, while others are pushed', async (t) => {
  const scene = await nodeScene(t);
  const batch = (from: number, count: number): object => ({
    tasks: Array.from({ length: count }, (_, i) => ({ queue: `q${(from + i) % 3}`, input: from + i })),
  });
  await scene.call('pushTasks', TASKS, { body: batch(0, 130) });
  const seen: number[] = [];
  let cursor = '';
  for (let page = 0; ; page++) {
    const answer = await scene.call('listTasks', `${TASKS}?limit=7${cursor}`);
    seen.push(...answer.tasks.map(({ input }: TaskView) => input as number));
    if (answer.cursor === undefined) break;
    cursor = `&cursor=${answer.cursor}`;
    await scene.call('pushTasks', TASKS, { body: batch(1000 + 2 * page, 2) });
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 130 }, (_, i) => 129 - i),
  );
});

test('a list is narrowed by several queues and states at once', async (t) => {
  const scene = await nodeScene(t);
  const inputs = async (query: string): Promise<number[]> =>
    (await scene.call('listTasks', `${TASKS}?${query}`)).tasks.map(({ input }: TaskView) => input as number);
  const tasks = Array.from({ length: 12 }, (_, i) => ({
    queue: `q${i % 3}`,
    input: i,
    ...(i < 6 ? {} : { delay: '1h' }),
  }));
  const { tasks: pushed } = await scene.call('pushTasks', TASKS, { body: { tasks } });
  await scene.call('cancelTask', `${TASKS}/${pushed[0].id}/cancel`, { body: {} });
  assert.deepEqual(await inputs('queue=q0&queue=q2'), [11, 9, 8, 6, 5, 3, 2, 0]);
  assert.deepEqual(await inputs('queue=q0&state=ready&state=cancelled'), [3, 0]);
  assert.deepEqual(await inputs('queue=q0&queue=q0&state=scheduled'), [9, 6]);
  assert.deepEqual(await inputs('queue=q0&queue=q2&limit=3'), [11, 9, 8]);
  assert.deepEqual(await inputs(`queue=q0&queue=q2&limit=3&cursor=${pushed[8].id}`), [6, 5, 3]);
  assert.deepEqual(await inputs('queue=nothing'), []);
  assert.equal((await scene.ask(`${TASKS}?queue=${'&queue=x'.repeat(60)}`)).status, 400);
  assert.equal((await scene.ask(`${TASKS}?cursor=task_elsewhere`)).status, 400);
});

test('the detail of a task has its attempts, its progress and why it waits', async (t) => {
  const scene = await nodeScene(t);
  const { engine } = scene;
  const { id } = await push(scene, { queue: 'q', maxAttempts: 2, retry: { baseMs: 0 } });
  const first = await claimed(scene, id);
  await engine.logs.append(first, [{ seq: 1, at: 5, stream: 'progress', text: '{"done":1}' }]);
  await engine.fail(first, new Error('no'));
  const waits = await scene.call('getTask', `${TASKS}/${id}`);
  assert.deepEqual([waits.state, waits.attempts.length, waits.progress], ['ready', 1, { done: 1 }]);
  assert.match(waits.summary, /./);
  const { attempts } = await scene.call('listAttempts', `${TASKS}/${id}/attempts`);
  assert.deepEqual([attempts.length, attempts[0].outcome, attempts[0].error.message], [1, 'retried', 'no']);
  const held = await push(scene, { queue: 'q', placement: { requires: ['gpu'] } });
  const why = await scene.call('explainTask', `${TASKS}/${held.id}/explain`);
  assert.deepEqual([why.taskId, why.runnable], [held.id, false]);
  assert.ok(why.workers.every(({ eligible }: { eligible: boolean }) => !eligible));
  assert.match(JSON.stringify(why.workers), /lacks the tag gpu/);
});

test('a task that is not there is 404, and an id of elsewhere 400, on every route of a task', async (t) => {
  const scene = await nodeScene(t);
  const foreign = await nodeScene(t);
  const { id } = await push(foreign, { queue: 'q' });
  for (const [rest, ask] of [
    ['', {}],
    ['/explain', {}],
    ['/attempts', {}],
    ['/logs', {}],
    ['/logs?follow=1', {}],
    ['/cancel', { body: {} }],
    ['/cancel', { body: { tree: true } }],
    ['/cancel', { body: { dryRun: true } }],
    ['/retry', { body: {} }],
    ['/retry', { body: { tree: true, dryRun: true } }],
  ] as const) {
    const unknown = await scene.ask(`${TASKS}/424242${rest}`, ask);
    assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'NOT_FOUND'], rest);
    const elsewhere = await scene.ask(`${TASKS}/${id}${rest}`, ask);
    assert.deepEqual([elsewhere.status, elsewhere.body.error?.code], [400, 'INVALID_ID'], rest);
  }
});

test('cancel ends what waits, asks who runs, and leaves what has ended', async (t) => {
  const scene = await nodeScene(t);
  const act = async (id: string, body: object = {}): Promise<unknown> => {
    const answer = await scene.call('cancelTask', `${TASKS}/${id}/cancel`, { body });
    assert.equal(answer.tasks.length, 1);
    const [one] = answer.tasks;
    assert.deepEqual([one.id, answer.counts], [id, { [one.act]: 1 }]);
    return [one.state, one.act, answer.dryRun];
  };
  const [waiting, running] = [await push(scene, { queue: 'q' }), await push(scene, { queue: 'q' })];
  const grant = await claimed(scene, running.id);
  assert.deepEqual(await act(waiting.id, { dryRun: true }), ['ready', 'cancelled', true]);
  assert.deepEqual(await act(running.id, { dryRun: true }), ['running', 'requested', true]);
  assert.deepEqual(await act(waiting.id), ['ready', 'cancelled', false]);
  assert.deepEqual(await act(waiting.id), ['cancelled', 'finished', false]);
  assert.deepEqual(await act(waiting.id, { dryRun: true }), ['cancelled', 'finished', true]);
  assert.deepEqual(await act(running.id), ['running', 'requested', false]);
  const asked = await scene.call('getTask', `${TASKS}/${running.id}`);
  assert.equal(asked.state, 'running');
  assert.ok(asked.cancelRequestedAt >= asked.createdAt);
  await scene.engine.cancelled(grant);
  assert.deepEqual(await act(running.id), ['cancelled', 'finished', false]);
});

test('retry runs what has ended again, and leaves what has not', async (t) => {
  const scene = await nodeScene(t);
  const act = async (id: string, body: object = {}): Promise<unknown> => {
    const [{ state, act: did }] = (await scene.call('retryTask', `${TASKS}/${id}/retry`, { body })).tasks;
    return [state, did];
  };
  const { id } = await push(scene, { queue: 'q' });
  assert.deepEqual(await act(id), ['ready', 'unfinished']);
  await scene.engine.complete(await claimed(scene, id), 42);
  assert.deepEqual(await act(id, { dryRun: true }), ['completed', 'again']);
  assert.equal((await scene.call('getTask', `${TASKS}/${id}`)).state, 'completed');
  assert.deepEqual(await act(id), ['completed', 'again']);
  assert.deepEqual(await act(id, { dryRun: true }), ['ready', 'unfinished']);
  const again = await scene.call('getTask', `${TASKS}/${id}`);
  assert.deepEqual([again.state, again.attempt, again.tries], ['ready', 1, 0]);
});

test('a tree is cancelled and run again as a whole, and a dry run only says so', async (t) => {
  const scene = await nodeScene(t);
  const [root] = await scene.engine.pushGraph([
    { name: 'a', queue: 'q', handler: 'h' },
    { name: 'b', queue: 'q', handler: 'h', after: ['a'] },
    { name: 'c', queue: 'q', handler: 'h', after: ['b'] },
  ]);
  assert.ok(root);
  const states = async (): Promise<string> =>
    (await scene.call('listTasks', TASKS)).tasks.map(({ state }: TaskView) => state).join();
  const tree = (verb: 'cancel' | 'retry', body: object): Promise<{ counts: object; dryRun: boolean }> =>
    scene.call(`${verb}Task`, `${TASKS}/${root.id}/${verb}`, { body });
  const dry = await tree('cancel', { tree: true, dryRun: true });
  assert.deepEqual([dry.counts, dry.dryRun], [{ cancelled: 3, requested: 0, finished: 0 }, true]);
  assert.equal(await states(), 'waiting,waiting,ready');
  assert.deepEqual((await tree('cancel', { tree: true })).counts, { cancelled: 3, requested: 0, finished: 0 });
  assert.equal(await states(), 'cancelled,cancelled,cancelled');
  assert.equal((await tree('retry', { tree: true, dryRun: true })).dryRun, true);
  assert.equal(await states(), 'cancelled,cancelled,cancelled');
  assert.deepEqual((await tree('retry', { tree: true })).counts, { again: 3, kept: 0, unfinished: 0, blocked: 0 });
  assert.equal(await states(), 'waiting,waiting,ready');
  assert.deepEqual(
    (await tree('cancel', { dryRun: true })).counts,
    { cancelled: 1 },
    'without tree it is this task alone',
  );
});

test('what is cancelled and retried is told at once to workers, to who waits for work and to who follows', async (t) => {
  const scene = await deafScene(t);
  const { engine } = scene;
  const { id } = await push(scene, { queue: 'q' });
  const grant = await claimed(scene, id);
  const asked = Promise.withResolvers<number>();
  engine.listen({ cancelRequested: asked.resolve });
  const events = messagesOf(await fetch(scene.url('/api/v1/events'), { headers: scene.headers({}) }));
  await scene.call('cancelTask', `${TASKS}/${id}/cancel`, { body: {} });
  assert.equal(await asked.promise, engine.parseId(id));
  assert.equal((await events.next()).value?.event, 'cancel_requested');
  await engine.cancelled(grant);
  assert.equal((await events.next()).value?.event, 'cancelled');
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const waiting = engine.claim({ worker, max: 1, waitMs: 60_000 });
  await scene.call('retryTask', `${TASKS}/${id}/retry`, { body: {} });
  assert.equal((await events.next()).value?.event, 'revived');
  assert.equal((await waiting).length, 1);
  await events.return(undefined);
});

test('names that mean something to JavaScript are plain data in an input, and __proto__ is refused', async (t) => {
  const scene = await nodeScene(t);
  const text =
    '{"constructor":{"prototype":{"polluted":1}},"prototype":1,"toString":"x","hasOwnProperty":null,"then":{"then":1}}';
  const { id } = await scene.call('pushTasks', TASKS, { body: `{"queue":"q","input":${text}}` });
  for (const path of [`${TASKS}/${id}`, TASKS]) {
    const response = await fetch(scene.url(path), { headers: scene.headers({}) });
    assert.ok((await response.text()).includes(`"input":${text}`), path);
  }
  for (const body of [
    '{"queue":"q","input":{"__proto__":{"polluted":1}}}',
    '{"queue":"q","input":[{"a":{"__proto__":1}}]}',
    '{"queue":"q","__proto__":{"priority":5}}',
    '{"tasks":[{"queue":"q","placement":{"__proto__":{"only":["x"]}}}]}',
  ]) {
    const answer = await scene.ask(TASKS, { body });
    assert.equal(answer.status, 400, body);
    assert.match(answer.body.error.message, /__proto__/);
  }
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('a page of large tasks ends early, and the pages lead through all of them all the same', async (t) => {
  const scene = await nodeScene(t);
  const input = 'x'.repeat(1_000_000);
  const ids: string[] = [];
  for (let i = 0; i < 60; i++)
    ids.push((await scene.engine.push({ queue: 'q', handler: 'h', input: i % 2 === 0 ? input : i })).id);
  const seen: string[] = [];
  let cursor = '';
  for (let pages = 1; ; pages++) {
    const response = await fetch(scene.url(`${TASKS}?limit=500${cursor}`), { headers: scene.headers({}) });
    const text = await response.text();
    assert.ok(text.length < 25_000_000, `a page has ${text.length} bytes`);
    const page = JSON.parse(text) as { tasks: TaskView[]; cursor?: string };
    seen.push(...page.tasks.map(({ id }) => id));
    if (page.cursor === undefined) break;
    cursor = `&cursor=${page.cursor}`;
    assert.ok(pages < 30);
  }
  assert.deepEqual(seen, ids.toReversed());
});

test('tasks are shown by their ids, in that order and without those that are gone, as many as fit', async (t) => {
  const scene = await nodeScene(t);
  const [a, b, c] = [
    await push(scene, { queue: 'q' }),
    await push(scene, { queue: 'q' }),
    await push(scene, { queue: 'r' }),
  ];
  const these = async (...ids: readonly string[]): Promise<{ tasks: TaskView[]; cursor?: string }> =>
    scene.call('listTasks', `${TASKS}?${ids.map((id) => `id=${id}`).join('&')}`);
  const shown = await these(c.id, a.id, '77777', b.id);
  assert.deepEqual(
    shown.tasks.map(({ id }) => id),
    [c.id, a.id, b.id],
  );
  assert.equal(shown.cursor, undefined);
  const large: string[] = [];
  for (let i = 0; i < 12; i += 1) large.push((await push(scene, { queue: 'q', input: 'x'.repeat(500_000) })).id);
  const page = await these(...large);
  assert.deepEqual([page.tasks.length, page.cursor], [10, large[9]], 'the rest is asked for again');
  for (const bad of [`id=garbage`, `id=${a.id}&queue=q`, `id=${a.id}&state=ready`, `id=${a.id}&cursor=${b.id}`])
    assert.equal((await scene.ask(`${TASKS}?${bad}`)).status, 400, bad);
});

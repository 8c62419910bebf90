import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';
import { type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { type Leasehold, open, task } from '../../index.ts';

const scene = (t: TestContext): Promise<NodeScene> => nodeScene(t, { samples: false });

/** Runs one task of this queue, and ends it so. */
async function fail({ engine }: NodeScene, queue: string, error: unknown, worker: number): Promise<void> {
  await engine.push({ queue, handler: 'h', maxAttempts: 1 });
  const [grant] = await engine.claim({ worker, max: 1, queues: [queue] });
  assert.ok(grant);
  await engine.fail(grant, error);
}

test('the overview of a node that nobody has used says so', async (t) => {
  const node = await scene(t);
  const overview = await node.call('overview', '/api/v1/overview');
  assert.equal(overview.sentence, 'Nothing here yet: no task and no worker.');
  assert.equal(overview.health, 'well');
  assert.deepEqual([overview.held, overview.incidents, overview.series.waiting], [[], [], []]);
});

test('the overview says what waits for what, and is looked up once a second for all', async (t) => {
  const node = await scene(t);
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 2, handlers: ['h'] });
  await engine.limits.set('claude', { concurrent: 1 });
  await engine.pushMany([
    ...Array.from({ length: 3 }, () => ({ queue: 'q', handler: 'h', limits: ['claude'] })),
    ...Array.from({ length: 2 }, () => ({ queue: 'q', handler: 'h', placement: { requires: ['gpu'] } })),
  ]);
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  const list = t.mock.method(engine.store, 'laneScan');
  const [overview, ...others] = await Promise.all(
    Array.from({ length: 20 }, () => node.call('overview', '/api/v1/overview')),
  );
  assert.equal(
    overview.sentence,
    '1 worker online, 1 running, 4 waiting: 2 on limit claude, 2 need tag gpu, which no worker has.',
  );
  assert.equal(overview.health, 'attention');
  assert.deepEqual(overview.slots, { all: 2, busy: 1 });
  assert.ok(others.every((one) => one.at === overview.at));
  assert.ok(list.mock.callCount() <= 2, `${list.mock.callCount()} looks`);
});

test('with samples the overview has a series, and incidents as they come', async (t) => {
  const node = await nodeScene(t);
  const worker = await node.engine.workers.register({ name: 'w', incarnation: 'i', slots: 2 });
  await fail(node, 'q', new Error('no'), worker);
  const seen = async (): Promise<boolean> => {
    const { incidents, series } = await node.call('overview', '/api/v1/overview');
    return incidents.some(({ kind }: { kind: string }) => kind === 'failed') && series.waiting.length > 0;
  };
  while (!(await seen())) await new Promise((resolve) => setImmediate(resolve));
});

test('tasks are counted by the time of their creation, as the query says', async (t) => {
  const node = await scene(t);
  const before = Date.now();
  await node.engine.pushMany([
    { queue: 'a', handler: 'h' },
    { queue: 'a', handler: 'x' },
    { queue: 'b', handler: 'h' },
  ]);
  const all = await node.call('countTasks', '/api/v1/tasks-histogram');
  assert.deepEqual([all.buckets.length, all.counted, all.cut], [60, 3, false]);
  assert.equal(all.until - all.from, 3_600_000);
  const some = await node.call(
    'countTasks',
    `/api/v1/tasks-histogram?queue=a&handler=h&state=ready&buckets=2&from=${before - 1000}&until=${Date.now() + 1000}`,
  );
  assert.deepEqual([some.counted, some.buckets.length], [1, 2]);
  const past = await node.call('countTasks', `/api/v1/tasks-histogram?from=1000&until=2000`);
  assert.equal(past.counted, 0);
  for (const query of [
    'from=5&until=5',
    'buckets=0',
    'buckets=501',
    'from=x',
    'queue=NO%20NAME',
    'state=gone',
    'x=1',
  ]) {
    const answer = await node.ask(`/api/v1/tasks-histogram?${query}`);
    assert.equal(answer.status, 400, query);
  }
});

test('tasks are listed by handler and by time, page by page', async (t) => {
  const node = await scene(t);
  const from = Date.now();
  await node.engine.pushMany(
    Array.from({ length: 9 }, (_, i) => ({ queue: `q${i % 2}`, handler: i % 3 === 0 ? 'x' : 'h' })),
  );
  const handlers = async (query: string): Promise<readonly string[]> => {
    const { tasks } = await node.call('listTasks', `/api/v1/tasks?${query}`);
    return tasks.map(({ handler, queue }: { handler: string; queue: string }) => `${queue} ${handler}`);
  };
  assert.deepEqual(await handlers('handler=x'), ['q0 x', 'q1 x', 'q0 x']);
  assert.deepEqual(await handlers('handler=x&handler=h&queue=q1&limit=2'), ['q1 h', 'q1 h']);
  assert.equal((await handlers(`from=${from - 5000}`)).length, 9);
  assert.equal((await handlers(`until=${from - 5000}`)).length, 0);
  const first = await node.call('listTasks', '/api/v1/tasks?handler=x&limit=2');
  const rest = await node.call('listTasks', `/api/v1/tasks?handler=x&limit=2&cursor=${first.cursor}`);
  assert.equal(rest.tasks.length, 1);
  assert.equal((await node.ask(`/api/v1/tasks?id=${first.cursor}&handler=x`)).status, 400);
  assert.equal((await node.ask('/api/v1/tasks?handler=NO%20NAME')).status, 400);
});

test('failures that read alike are one group, with the ids to run them again', async (t) => {
  const node = await scene(t);
  const worker = await node.engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  for (const n of [1, 2, 3]) await fail(node, 'a', new Error(`timeout after ${n} ms`), worker);
  await fail(node, 'b', new Error('no user "anna"'), worker);
  const all = await node.call('listFailures', '/api/v1/failures');
  assert.deepEqual(
    all.groups.map(({ pattern, tasks, queues }: { pattern: string; tasks: number; queues: string[] }) => [
      pattern,
      tasks,
      queues,
    ]),
    [
      ['timeout after <n> ms', 3, ['a']],
      ['no user <word>', 1, ['b']],
    ],
  );
  assert.deepEqual([all.looked, all.cut, all.groups[0].message], [4, false, 'timeout after 3 ms']);
  const retried = await node.ask(`/api/v1/tasks/${all.groups[0].ids[0]}/retry`, { body: {} });
  assert.equal(retried.status, 200);
  const some = await node.call('listFailures', '/api/v1/failures?queue=b');
  assert.deepEqual([some.groups.length, some.looked], [1, 1]);
});

test('handlers are those that workers offer and those that tasks ask for, with the form of what they take', async (t) => {
  const node = await scene(t);
  const { engine } = node;
  const takes = (handler: string) => ({ handler, schema: '{"type":"string"}' });
  await engine.workers.register({
    name: 'w0',
    incarnation: 'i0',
    slots: 1,
    handlers: ['echo', 'shell'],
    schemas: [takes('echo'), takes('shell')],
  });
  await engine.workers.set({ name: 'w0', enabled: false });
  await engine.workers.register({ name: 'w1', incarnation: 'i1', slots: 1, handlers: ['echo', 'mine'] });
  await engine.workers.register({ name: 'w2', incarnation: 'i2', slots: 1, handlers: ['mine'] });
  await engine.pushMany([
    { queue: 'a', handler: 'mine' },
    { queue: 'b', handler: 'mine' },
    { queue: 'b', handler: 'shell' },
  ]);
  const { handlers } = await node.call('listHandlers', '/api/v1/handlers');
  assert.deepEqual(
    handlers.map(({ schema, ...rest }: { schema?: object }) => ({ ...rest, known: schema !== undefined })),
    [
      { name: 'echo', workers: 1, queues: [], known: true },
      { name: 'mine', workers: 2, queues: ['a', 'b'], known: false },
      { name: 'shell', workers: 0, queues: ['b'], known: false },
    ],
  );
});

test('a handler is known by the queues that its tasks have been in, though none waits any more', async (t) => {
  const node = await scene(t);
  const worker = await node.engine.workers.register({ name: 'w', incarnation: 'i', slots: 1, handlers: ['h'] });
  await fail(node, 'old', new Error('no'), worker);
  const { handlers } = await node.call('listHandlers', '/api/v1/handlers');
  assert.deepEqual(handlers, [{ name: 'h', workers: 1, queues: ['old'] }]);
});

test('what the handlers of a program take is known to the node that its worker joins', async (t) => {
  let app: Leasehold | undefined;
  // Before the node that it talks to, which is opened below.
  t.after(() => app?.close());
  const node = await scene(t);
  app = await open(node.service.address as 'http://node', { token: node.admin });
  const send = task('send', { input: z.object({ to: z.email(), times: z.int().default(1) }), run: () => {} });
  const long = (n: number) =>
    task(`long-${n}`, { input: z.object({ a: z.string().describe('x'.repeat(32_000)) }), run: () => {} });
  await app.worker({ tasks: [send, ...Array.from({ length: 9 }, (_, n) => long(n))] }).start();
  const { handlers } = await node.call('listHandlers', '/api/v1/handlers');
  const { properties, required } = handlers.at(-1).schema;
  assert.deepEqual([Object.keys(properties), properties.to.format, required], [['to', 'times'], 'email', ['to']]);
  // One worker tells of a quarter of a megabyte, and of the others nothing: it works all the same.
  assert.equal(handlers.filter(({ name, schema }: Wire) => name.startsWith('long') && schema !== undefined).length, 8);
});

test('no worker speaks for another about the input of a handler, and none for the built-in ones', async (t) => {
  const node = await scene(t);
  const join = (name: string, schema: object) =>
    node.engine.workers.register({
      name,
      incarnation: name,
      slots: 1,
      handlers: ['echo', 'render'],
      schemas: ['echo', 'render'].map((handler) => ({ handler, schema: JSON.stringify(schema) })),
    });
  await join('good', { type: 'object', default: { to: 'me' } });
  await join('twin', { type: 'object' });
  await join('liar', { type: 'string' });
  const { handlers } = await node.call('listHandlers', '/api/v1/handlers');
  const [echo, render] = handlers as [Wire, Wire];
  assert.equal(echo.disagreement, undefined);
  assert.notDeepEqual(echo.schema, { type: 'string' });
  assert.equal(render.schema, undefined);
  assert.deepEqual(render.disagreement, [
    { workers: ['good', 'twin'], schema: { type: 'object' } },
    { workers: ['liar'], schema: { type: 'string' } },
  ]);
});

test('a view is saved under its name, replaced, listed and removed', async (t) => {
  const node = await scene(t);
  const view = { name: 'my failures', screen: 'tasks', query: 'state=failed' };
  const save = (body: object, ask = {}) => node.ask('/api/v1/views', { body, ...ask });
  const saved = await node.call('saveView', '/api/v1/views', { body: view, headers: { 'x-leasehold-by': 'anna' } });
  assert.deepEqual([saved.name, saved.by], ['my failures', 'anna']);
  assert.equal((await save({ ...view, query: 'state=ready' })).status, 201);
  const { views } = await node.call('listViews', '/api/v1/views');
  assert.deepEqual(
    views.map(({ name, query }: { name: string; query: string }) => [name, query]),
    [['my failures', 'state=ready']],
  );
  for (const bad of [
    { name: '' },
    { name: 'x'.repeat(101) },
    { screen: '../x' },
    { query: 'x'.repeat(2001) },
    { more: 1 },
  ]) {
    assert.equal((await save({ ...view, ...bad })).status, 400, JSON.stringify(bad));
  }
  for (const bad of [{ name: 'a\u0000' }, { query: 'a\u0000' }, { query: '\ud800' }, { name: 'a\nb' }]) {
    assert.equal((await save({ ...view, ...bad })).status, 400, JSON.stringify(bad));
  }
  await node.call('removeView', '/api/v1/views/my%20failures');
  assert.equal((await node.ask('/api/v1/views/my%20failures', { method: 'DELETE' })).status, 404);
  const { token } = await node.token('read');
  assert.equal((await save(view, { token })).status, 403);
  assert.equal((await node.ask('/api/v1/views', { token })).status, 200);
});

test('no more views are kept than a person can look through', async (t) => {
  const node = await scene(t);
  const view = { screen: 'tasks', query: '' };
  await Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      node.engine.store.viewPut({ view: { ...view, name: `v${i}`, by: 'me' }, most: 500 }),
    ),
  );
  const more = await node.ask('/api/v1/views', { body: { ...view, name: 'more' } });
  assert.deepEqual([more.status, more.body.error.code], [409, 'CONFLICT']);
  assert.equal((await node.ask('/api/v1/views', { body: { ...view, name: 'v7' } })).status, 201);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { VirtualWorld } from '../../testing.ts';

const GRAPHS = '/api/v1/graphs';
const TASKS = '/api/v1/tasks';

const push = (node: NodeScene, tasks: readonly object[], key?: string): Promise<Answer['body']> =>
  node.call('pushGraph', GRAPHS, {
    body: { tasks },
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });
const stateOf = async (node: NodeScene, id: string): Promise<string> =>
  (await node.call('getTask', `${TASKS}/${id}`)).state;

test('tasks of a graph wait for each other by name and for tasks that exist by id', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const before = await engine.push({ queue: 'q', handler: 'before' });
  const { tasks } = await push(node, [
    { name: 'a', queue: 'q', handler: 'a', after: [before.id] },
    {
      name: 'b',
      queue: 'q',
      handler: 'b',
      input: { n: 1 },
      priority: 3,
      after: ['a', { on: before.id, optional: true }],
    },
  ]);
  assert.deepEqual(
    tasks.map(({ name, handler, state, fresh }: Answer['body']) => [name, handler, state, fresh]),
    [
      ['a', 'a', 'waiting', true],
      ['b', 'b', 'waiting', true],
    ],
  );
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  for (const handler of ['before', 'a', 'b']) {
    const [grant] = await engine.claim({ worker, max: 9 });
    assert.equal(grant?.handler, handler);
    await engine.complete(grant);
  }
  assert.equal(await stateOf(node, tasks[1].id), 'completed');
});

test('what a failure does is said by each task, and names default to places', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { tasks } = await push(node, [
    { queue: 'q' },
    { queue: 'q', after: ['0'] },
    { queue: 'q', after: ['0'], afterFailure: 'fail' },
    { queue: 'q', after: ['0'], afterFailure: 'run' },
    { queue: 'q', after: [{ on: '0', optional: true }] },
  ]);
  assert.deepEqual(
    tasks.map(({ name }: Answer['body']) => name),
    ['0', '1', '2', '3', '4'],
  );
  await node.call('cancelTask', `${TASKS}/${tasks[0].id}/cancel`, { body: {} });
  const states = [];
  for (const { id } of tasks) states.push(await stateOf(node, id));
  assert.deepEqual(states, ['cancelled', 'cancelled', 'failed', 'ready', 'ready']);
});

test('a graph that is bad in one part stores nothing', async (t) => {
  const node = await nodeScene(t);
  const task = { queue: 'q' };
  const foreign = 'task_0198c0de-7a5e-7000-8000-000000aa1b2c';
  for (const [tasks, status, code] of [
    [[], 400, 'INVALID_INPUT'],
    [[task, { ...task, after: ['none'] }], 400, 'INVALID_INPUT'],
    [[task, { ...task, after: [7] }], 400, 'INVALID_INPUT'],
    [[task, { ...task, after: [{ on: '0', when: 'failed' }] }], 400, 'INVALID_INPUT'],
    [[task, { ...task, after: [foreign] }], 400, 'INVALID_ID'],
    [
      [
        { ...task, name: 'a', after: ['b'] },
        { ...task, name: 'b', after: ['a'] },
      ],
      400,
      'INVALID_INPUT',
    ],
    [
      [
        { ...task, name: 'a' },
        { ...task, name: 'a' },
      ],
      400,
      'INVALID_INPUT',
    ],
    [[task, { ...task, after: ['0'], delay: '1m' }], 400, 'INVALID_INPUT'],
    [[task, { ...task, afterFailure: 'hope' }], 400, 'INVALID_INPUT'],
    [[task, { ...task, colour: 'red' }], 400, 'INVALID_INPUT'],
    [[task, { ...task, limits: ['none'] }], 404, 'NOT_FOUND'],
  ] as const) {
    const answer = await node.ask(GRAPHS, { body: { tasks } });
    assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(tasks));
  }
  assert.equal((await node.ask(GRAPHS, { body: task })).status, 400, 'one task is no graph');
  assert.deepEqual((await node.call('listTasks', TASKS)).tasks, []);
});

test('a graph that is sent again under its key is the first one, and a key of tasks is another', async (t) => {
  const node = await nodeScene(t);
  const graph = [
    { name: 'a', queue: 'q' },
    { name: 'b', queue: 'q', after: ['a'] },
  ];
  const first = await push(node, graph, 'k');
  const ten = await Promise.all(Array.from({ length: 10 }, () => push(node, graph, 'k')));
  for (const again of ten) assert.deepEqual(again, first);
  await node.call('pushTasks', TASKS, { body: { queue: 'q' }, headers: { 'idempotency-key': 'k' } });
  assert.equal((await node.call('listTasks', TASKS)).tasks.length, 3);
});

test('a push says whether its unique key led to a task that was there', async (t) => {
  const node = await nodeScene(t);
  const body = { queue: 'q', unique: 'u' };
  assert.equal((await node.call('pushTasks', TASKS, { body })).fresh, true);
  assert.equal((await node.call('pushTasks', TASKS, { body })).fresh, false);
  assert.equal((await push(node, [body])).tasks[0].fresh, false);
});

test('a tree shows what hangs on a task, and on what each of them does', async (t) => {
  const node = await nodeScene(t);
  const { tasks } = await push(node, [
    { name: 'a', queue: 'q' },
    { name: 'b', queue: 'q', after: ['a'] },
    { name: 'c', queue: 'q', after: ['a', 'b'] },
    { name: 'd', queue: 'q' },
  ]);
  const [a, b, c] = tasks.map(({ id }: Answer['body']) => id);
  const tree = await node.call('showTree', `${TASKS}/${a}/tree`);
  const shown = tree.tasks.map(({ id, state, after, spawnedBy }: Answer['body']) => [id, state, after, spawnedBy]);
  assert.deepEqual(shown, [
    [a, 'ready', [], []],
    [b, 'waiting', [a], []],
    [c, 'waiting', [a, b], []],
  ]);
  const missing = await node.ask(`${TASKS}/999999/tree`);
  assert.equal(missing.status, 404);
});

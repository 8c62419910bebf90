/** A push that is sent again because its answer was lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import type { TaskView } from '../../operate/views.ts';
import { VirtualWorld } from '../../testing.ts';

const TASKS = '/api/v1/tasks';

function push(scene: NodeScene, key: string, body: object, token: string = scene.admin): Promise<Answer['body']> {
  return scene.call('pushTasks', TASKS, { body, token, headers: { 'idempotency-key': key } });
}

const idOf = async (pushed: Promise<TaskView>): Promise<string> => (await pushed).id;
const count = async (scene: NodeScene): Promise<number> =>
  (await scene.call('listTasks', `${TASKS}?limit=500`)).tasks.length;

/** A token of this name, as an admin would make it. */
async function tokenNamed(scene: NodeScene, name: string): Promise<string> {
  return (await scene.call('createToken', '/api/v1/tokens', { body: { name, role: 'operator' } })).token;
}

test('a repeat under the same key gets the task of the first, in the state that it has now', async (t) => {
  const scene = await nodeScene(t);
  const first = await push(scene, 'a', { queue: 'q', input: 1 });
  assert.deepEqual(await push(scene, 'a', { queue: 'q', input: 1 }), first);
  await scene.call('cancelTask', `${TASKS}/${first.id}/cancel`, { body: {} });
  const later = await push(scene, 'a', { queue: 'q', input: 1 });
  assert.deepEqual([later.id, later.state], [first.id, 'cancelled']);
  assert.notEqual(await idOf(push(scene, 'b', { queue: 'q', input: 1 })), first.id);
  assert.equal(await count(scene), 2);
});

test('sixteen at once make one task, and one batch', async (t) => {
  const scene = await nodeScene(t);
  const sixteen = <T>(act: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 16 }, act));
  const ones = await sixteen(() => idOf(push(scene, 'one', { queue: 'q' })));
  assert.equal(new Set(ones).size, 1);
  const body = { tasks: Array.from({ length: 20 }, (_, input) => ({ queue: 'q', input })) };
  const batches = await sixteen(() => push(scene, 'batch', body));
  const ids = batches.map(({ tasks }) => tasks.map(({ id }: TaskView) => id).join());
  assert.equal(new Set(ids).size, 1);
  assert.equal(await count(scene), 21);
});

test('a batch that takes of limits is repeated safely too', async (t) => {
  const scene = await nodeScene(t);
  await scene.call('createLimit', '/api/v1/limits', { body: { name: 'api', concurrent: 1 } });
  const body = { tasks: [{ queue: 'q', limits: ['api'] }, { queue: 'q' }] };
  const first = await push(scene, 'k', body);
  assert.deepEqual(await push(scene, 'k', body), first);
  assert.equal(await count(scene), 2);
});

test('a repeat of what was refused for its unique key stores nothing, and is stored once the key is free', async (t) => {
  const scene = await nodeScene(t);
  const { id } = await push(scene, 'first', { queue: 'q', unique: { key: 'u', window: 0 }, input: 1 });
  const body = { tasks: [{ queue: 'q' }, { queue: 'q', unique: 'u', input: 2 }] };
  const headers = { 'idempotency-key': 'second' };
  for (let i = 0; i < 2; i++) assert.equal((await scene.ask(TASKS, { body, headers })).status, 422);
  assert.equal(await count(scene), 1);
  await scene.call('cancelTask', `${TASKS}/${id}/cancel`, { body: {} });
  assert.equal((await push(scene, 'second', body)).tasks.length, 2);
});

test('a key stands for what it was first used for: other work under it is refused, and nothing is stored', async (t) => {
  const scene = await nodeScene(t);
  const refused = async (key: string, body: object, path = TASKS): Promise<void> => {
    const { status, body: answer } = await scene.ask(path, { body, headers: { 'idempotency-key': key } });
    assert.deepEqual([status, answer.error?.code], [409, 'CONFLICT'], JSON.stringify(body));
  };
  await push(scene, 'a', { queue: 'q', handler: 'h', input: { b: 1, a: 2 } });
  await push(scene, 'a', { queue: 'q', handler: 'h', input: { a: 2, b: 1 } });
  await refused('a', { queue: 'other', handler: 'h', input: { a: 2, b: 1 } });
  await refused('a', { queue: 'q', handler: 'other', input: { a: 2, b: 1 } });
  await refused('a', { queue: 'q', handler: 'h', input: { a: 2, b: 2 } });
  await refused('a', { queue: 'q', handler: 'h', unique: 'u' });
  await refused('a', { tasks: [{ queue: 'q', input: 1 }, { queue: 'q' }] });
  await scene.call('createLimit', '/api/v1/limits', { body: { name: 'api', concurrent: 1 } });
  await refused('a', { queue: 'q', handler: 'h', input: 1, limits: ['api'] });
  const graph = {
    tasks: [
      { name: 'x', queue: 'q' },
      { name: 'y', queue: 'q', after: ['x'] },
    ],
  };
  const headers = { 'idempotency-key': 'g' };
  await scene.call('pushGraph', '/api/v1/graphs', { body: graph, headers });
  await refused(
    'g',
    {
      tasks: [
        { name: 'x', queue: 'q' },
        { name: 'y', queue: 'p' },
        { name: 'z', queue: 'q' },
      ],
    },
    '/api/v1/graphs',
  );
  assert.equal(await count(scene), 3);
});

test('callers of different names never share a key, whatever is in their names and keys', async (t) => {
  const scene = await nodeScene(t);
  const tokens = [scene.admin];
  for (const name of ['admin', 'a', 'a:b', 'a:', 'A', 'ä']) tokens.push(await tokenNamed(scene, name));
  const keys = ['k', 'b:k', ':b:k', 'K'];
  const made = new Set<string>();
  for (const token of tokens) for (const key of keys) made.add(await idOf(push(scene, key, { queue: 'q' }, token)));
  assert.equal(made.size, tokens.length * keys.length);
});

test('a token that was rotated keeps the keys of the one before it', async (t) => {
  const scene = await nodeScene(t);
  const old = await scene.token('operator');
  const first = await idOf(push(scene, 'k', { queue: 'q' }, old.token));
  const { token } = await scene.call('rotateToken', `/api/v1/tokens/${old.id}/rotate`, { body: {} });
  assert.equal(await idOf(push(scene, 'k', { queue: 'q' }, token)), first);
});

test('the longest key of the longest name is taken, and one that is longer or empty is refused', async (t) => {
  const scene = await nodeScene(t);
  const token = await tokenNamed(scene, 'n'.repeat(100));
  const body = { tasks: Array.from({ length: 11 }, () => ({ queue: 'q' })) };
  const first = await push(scene, 'k'.repeat(200), body, token);
  assert.deepEqual(await push(scene, 'k'.repeat(200), body, token), first);
  const latin = await push(scene, 'é\u0080', { queue: 'q' }, token);
  assert.equal(await idOf(push(scene, 'é\u0080', { queue: 'q' }, token)), latin.id);
  for (const key of ['', 'k'.repeat(201)]) {
    const answer = await scene.ask(TASKS, { body: { queue: 'q' }, headers: { 'idempotency-key': key } });
    assert.equal(answer.status, 400);
    assert.match(answer.body.error.message, /Idempotency-Key/);
  }
});

test('a repeat of what has ended and is no longer kept says so, and pushes nothing', async (t) => {
  const world = new VirtualWorld();
  const scene = await nodeScene(t, { world, duties: false, housekeeping: false, retentionMs: '1h' });
  const { store } = scene.engine;
  const { id } = await push(scene, 'one', { queue: 'q' });
  const batch = { tasks: [{ queue: 'q' }, { queue: 'q', delay: '1d' }] };
  const { tasks } = await push(scene, 'two', batch);
  for (const gone of [id, tasks[0].id]) await scene.call('cancelTask', `${TASKS}/${gone}/cancel`, { body: {} });
  world.elapse(2 * 3_600_000);
  const duty = await store.dutyTake({ name: 'pruner', holder: 'test', ttlMs: 60_000 });
  assert.ok(duty);
  while (!(await store.taskPrune({ duty, retentionMs: 3_600_000, limit: 100 })).done);
  for (const [key, body] of [
    ['one', { queue: 'q' }],
    ['two', batch],
  ] as const) {
    const answer = await scene.ask(TASKS, { body, headers: { 'idempotency-key': key } });
    assert.deepEqual([answer.status, answer.body.error?.code], [404, 'NOT_FOUND'], JSON.stringify(answer.body));
    assert.match(answer.body.error.hint, /no longer kept/);
  }
  assert.equal(await count(scene), 1);
});

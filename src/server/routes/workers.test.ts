import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { VirtualWorld } from '../../testing.ts';

const WORKERS = '/api/v1/workers';

const edit = (node: NodeScene, name: string, body: object): Promise<Answer['body']> =>
  node.call('editWorker', `${WORKERS}/${name}`, { body });

test('workers are listed with what they are, what they run and what is said of them', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  assert.deepEqual(await node.call('listWorkers', WORKERS), { workers: [], absent: [], settings: [] });
  const worker = await engine.workers.register({
    name: 'laptop',
    incarnation: 'i',
    slots: 3,
    tags: ['gpu'],
    handlers: ['h'],
    queues: ['q'],
    version: '1.2.3',
    host: 'here',
    pid: 5,
    address: '10.0.0.9',
  });
  const { id: task } = await engine.push({ queue: 'q', handler: 'h' });
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  await engine.workers.beat({ worker, ended: 3 });
  await edit(node, 'laptop', { addTags: ['ssd'], priority: 7 });
  await edit(node, 'elsewhere', { enabled: false });
  const { workers, absent, settings } = await node.call('listWorkers', WORKERS);
  const [{ id, startedAt: _, lastSeenAt, ...one }] = workers;
  assert.match(id, /^wrk_/);
  assert.ok(Math.abs(lastSeenAt - Date.now()) < 60_000);
  assert.deepEqual(one, {
    name: 'laptop',
    state: one.state,
    enabled: true,
    slots: 3,
    running: 1,
    priority: 7,
    tags: ['gpu', 'ssd'],
    handlers: ['h'],
    queues: ['q'],
    version: '1.2.3',
    host: 'here',
    pid: 5,
    address: '10.0.0.9',
    totalTasks: 3,
    currentTasks: [task],
  });
  assert.deepEqual(absent, [{ name: 'elsewhere', enabled: false, tags: [], workers: 0, running: 0 }]);
  assert.deepEqual(
    settings.map(({ name }: { readonly name: string }) => name),
    ['elsewhere', 'laptop'],
  );
});

test('a worker is disabled, enabled and ranked by its name, and null gives it its own rank again', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 3, priority: 2 });
  await engine.push({ queue: 'q', handler: 'h' });
  const off = await edit(node, 'w', { enabled: false, priority: 9 });
  assert.deepEqual(off, { name: 'w', enabled: false, priority: 9, tags: [], workers: 1, running: 0 });
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  const waiting = engine.claim({ worker, max: 1, waitMs: 60_000 });
  const on = await edit(node, 'w', { enabled: true, priority: null });
  assert.deepEqual([on.enabled, on.priority], [true, undefined]);
  assert.equal((await waiting).length, 1, 'it hears of it at once');
  assert.equal((await node.call('listWorkers', WORKERS)).workers[0].priority, 2);
  const same = await edit(node, 'w', {});
  assert.deepEqual([same.enabled, same.priority, same.running], [true, undefined, 1]);
});

test('tags are added and taken away, and the list of tags says who has them and who waits for them', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  await engine.workers.register({ name: 'w', incarnation: 'i', slots: 3, tags: ['own'] });
  assert.deepEqual((await edit(node, 'w', { addTags: ['gpu=nvidia', 'ssd', 'ssd'] })).tags, ['gpu=nvidia', 'ssd']);
  assert.deepEqual((await edit(node, 'w', { addTags: ['big'], removeTags: ['ssd', 'never had'] })).tags, [
    'gpu=nvidia',
    'big',
  ]);
  await engine.push({ queue: 'wide', handler: 'h', placement: { requires: ['big', 'tpu'] } });
  const { tags } = await node.call('listTags', '/api/v1/tags');
  const none = { made: false, usedBy: [], missing: false };
  assert.deepEqual(tags, [
    { tag: 'big', workers: 1, names: ['w'], wantedBy: ['wide'], givenTo: ['w'], ...none },
    { tag: 'gpu=nvidia', workers: 1, names: ['w'], wantedBy: [], givenTo: ['w'], ...none },
    { tag: 'own', workers: 1, names: ['w'], wantedBy: [], givenTo: [], ...none },
    { tag: 'tpu', workers: 0, names: [], wantedBy: ['wide'], givenTo: [], ...none, missing: true },
  ]);
});

test('a change that is bad in one part changes nothing', async (t) => {
  const node = await nodeScene(t);
  await edit(node, 'w', { addTags: ['old'], priority: 1 });
  for (const body of [
    { addTags: ['new'], priority: 2 ** 40 },
    { addTags: ['new'], priority: 1.5 },
    { addTags: ['new'], enabled: 'no' },
    { addTags: ['new', ''], enabled: false },
    { addTags: ['a\u0000'], priority: 5 },
    { addTags: ['x'.repeat(256)], priority: 5 },
    { addTags: Array.from({ length: 101 }, (_, i) => `t${i}`) },
    { addTags: 'new' },
    { tags: ['new'] },
  ]) {
    const answer = await node.ask(`${WORKERS}/w`, { body, method: 'PATCH' });
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'INVALID_INPUT'], JSON.stringify(body));
  }
  const { absent } = await node.call('listWorkers', WORKERS);
  assert.deepEqual(absent, [{ name: 'w', enabled: true, priority: 1, tags: ['old'], workers: 0, running: 0 }]);
});

test('what no worker can be called is refused, whatever is said of it', async (t) => {
  const node = await nodeScene(t);
  for (const name of ['%00', 'a%2Fb', '-x', 'x'.repeat(128), '%F0%9F%98%80', '..%2F..']) {
    for (const body of [{}, { enabled: false }, { addTags: ['x'] }]) {
      const answer = await node.ask(`${WORKERS}/${name}`, { body, method: 'PATCH' });
      assert.deepEqual(
        [answer.status, answer.body.error?.code],
        [400, 'INVALID_INPUT'],
        `${name} ${JSON.stringify(body)}`,
      );
    }
  }
  assert.deepEqual((await node.call('listWorkers', WORKERS)).absent, []);
});

test('one worker is shown by its name, with all processes that are kept of it', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  for (const incarnation of ['old', 'new']) {
    await engine.workers.register({
      name: 'w',
      incarnation,
      slots: 3,
      tags: ['own'],
      pid: incarnation === 'old' ? 1 : 2,
    });
  }
  await edit(node, 'w', { addTags: ['given'], priority: 4 });
  const worker = await node.call('getWorker', `${WORKERS}/w`);
  assert.deepEqual(
    [worker.name, worker.enabled, worker.priority, worker.tags, worker.workers, worker.running, worker.carries],
    ['w', true, 4, ['given'], 2, 0, ['given', 'own']],
  );
  assert.deepEqual(
    worker.processes.map(({ name, pid }: Answer['body']) => [name, pid]),
    [
      ['w', 2],
      ['w', 1],
    ],
  );
  const made = await node.call('createWorker', WORKERS, { body: { name: 'coming' } });
  assert.ok(made.secret);
  assert.deepEqual((await node.call('getWorker', `${WORKERS}/coming`)).processes, []);
  await edit(node, 'said', { enabled: false });
  assert.equal((await node.call('getWorker', `${WORKERS}/said`)).enabled, false);
  assert.equal((await node.ask(`${WORKERS}/nobody`)).status, 404);
  assert.equal((await node.ask(`${WORKERS}/-x`)).status, 400);
});

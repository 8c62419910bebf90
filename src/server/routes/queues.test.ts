import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { VirtualWorld } from '../../testing.ts';

const QUEUES = '/api/v1/queues';

test('queues are listed with what is in them', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  assert.deepEqual(await node.call('listQueues', QUEUES), { queues: [] });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  await engine.pushMany(Array.from({ length: 4 }, () => ({ queue: 'a', handler: 'h' })));
  await engine.push({ queue: 'b', handler: 'h', delay: '1h' });
  const [first, second] = await engine.claim({ worker, max: 3 });
  assert.ok(first && second);
  await engine.complete(first);
  await engine.fail(second, new Error('no'), { giveUp: true });
  const { queues } = await node.call('listQueues', QUEUES);
  const none = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 };
  assert.deepEqual(queues, [
    { ...none, name: 'a', paused: false, ready: 1, running: 1, completed: 1, failed: 1 },
    { ...none, name: 'b', paused: false, scheduled: 1 },
  ]);
});

test('a paused queue starts nothing, and when it is resumed who waits for work hears of it at once', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  await engine.push({ queue: 'a', handler: 'h' });
  for (let twice = 0; twice < 2; twice++) {
    const paused = await node.call('pauseQueue', `${QUEUES}/a/pause`);
    assert.deepEqual([paused.name, paused.paused, paused.ready], ['a', true, 1]);
  }
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  const waiting = engine.claim({ worker, max: 1, waitMs: 60_000 });
  const resumed = await node.call('resumeQueue', `${QUEUES}/a/resume`);
  assert.equal(resumed.paused, false);
  assert.equal((await waiting).length, 1);
});

test('a queue may be paused before there is anything in it, and one that nobody named is not resumed', async (t) => {
  const node = await nodeScene(t);
  assert.equal((await node.call('pauseQueue', `${QUEUES}/early/pause`, { body: {} })).paused, true);
  const none = await node.ask(`${QUEUES}/none/resume`, { method: 'POST' });
  assert.deepEqual([none.status, none.body.error.code], [404, 'NOT_FOUND']);
  for (const name of ['UPPER', '%00', 'a%2Fb', '-x', 'x'.repeat(64)]) {
    for (const verb of ['pause', 'resume']) {
      const bad = await node.ask(`${QUEUES}/${name}/${verb}`, { method: 'POST' });
      assert.ok(bad.status === 400 || (verb === 'resume' && bad.status === 404), `${name} ${verb}: ${bad.status}`);
    }
  }
  const extra = await node.ask(`${QUEUES}/early/pause`, { body: { for: '5m' } });
  assert.equal(extra.status, 400, 'a pause for a time is not something that it can do');
  assert.match(extra.body.error.message, /body\.for/);
  assert.deepEqual((await node.call('listQueues', QUEUES)).queues.length, 1);
});

const count = async (node: NodeScene, queue: string): Promise<Answer['body']> =>
  node.call('getQueue', `${QUEUES}/${queue}`);

test('one queue is shown by its name, and one that nobody named is not found', async (t) => {
  const node = await nodeScene(t);
  await node.engine.push({ queue: 'a', handler: 'h' });
  assert.deepEqual([(await count(node, 'a')).ready, (await count(node, 'a')).paused], [1, false]);
  assert.equal((await node.ask(`${QUEUES}/b`)).status, 404);
});

test('a purge cancels what waits once it is told how much that is, and leaves what runs', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  for (let i = 0; i < 4; i++) await engine.push({ queue: 'a', handler: 'h' });
  await engine.push({ queue: 'a', handler: 'h', delay: '1h' });
  await engine.push({ queue: 'b', handler: 'h' });
  assert.equal((await engine.claim({ worker, max: 1, queues: ['a'] })).length, 1);
  const purge = `${QUEUES}/a/purge`;
  const dry = await node.call('purgeQueue', purge, { body: { dryRun: true } });
  assert.deepEqual(dry, { queue: 'a', found: 4, dryRun: true, cancelled: 0, asked: 0 });
  const unsure = await node.ask(purge, { body: {} });
  assert.equal(unsure.status, 400);
  assert.match(unsure.body.error.message, /expected/);
  const more = await node.ask(purge, { body: { expected: 3 } });
  assert.deepEqual([more.status, more.body.error.code], [409, 'CONFLICT']);
  assert.equal((await count(node, 'a')).ready, 3, 'nothing was changed');
  const done = await node.call('purgeQueue', purge, { body: { expected: 4 } });
  assert.deepEqual(done, { queue: 'a', found: 4, dryRun: false, cancelled: 4, asked: 0 });
  const { ready, running, scheduled, cancelled } = await count(node, 'a');
  assert.deepEqual([ready, running, scheduled, cancelled], [0, 1, 0, 4]);
  assert.equal((await count(node, 'b')).ready, 1);
  assert.equal((await node.ask(`${QUEUES}/none/purge`, { body: { expected: 9 } })).status, 404);
});

test('a purge goes on where it was, and spares what has come meanwhile', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  for (let i = 0; i < 5; i++) await engine.push({ queue: 'a', handler: 'h', input: i });
  const purge = `${QUEUES}/a/purge`;
  const first = await node.call('purgeQueue', purge, { body: { expected: 5, limit: 2 } });
  assert.equal(first.cancelled, 2);
  const late = await engine.push({ queue: 'a', handler: 'h', input: 'late' });
  let { cursor } = first;
  let cancelled = 2;
  while (cursor !== undefined) {
    const next: Answer['body'] = await node.call('purgeQueue', purge, { body: { limit: 2, cursor } });
    cancelled += next.cancelled;
    cursor = next.cursor;
  }
  assert.equal(cancelled, 5);
  const { tasks } = await node.call('listTasks', '/api/v1/tasks?queue=a&state=ready');
  assert.deepEqual(
    tasks.map(({ id }: Answer['body']) => id),
    [late.id],
  );
});

test('what ended so in a queue is run again, and who waits for work hears of it at once', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  for (let i = 0; i < 3; i++) await engine.push({ queue: 'a', handler: 'h' });
  const [one, two, three] = await engine.claim({ worker, max: 3 });
  assert.ok(one && two && three);
  await engine.fail(one, 'no', { giveUp: true });
  await engine.fail(two, 'no', { giveUp: true });
  await engine.complete(three);
  const retry = `${QUEUES}/a/retry`;
  const dry = await node.call('retryQueue', retry, { body: { states: ['failed'], dryRun: true } });
  assert.deepEqual(dry, { queue: 'a', found: 2, dryRun: true, retried: 0 });
  const waiting = engine.claim({ worker, max: 9, waitMs: 60_000 });
  const done = await node.call('retryQueue', retry, { body: { states: ['failed'], expected: 2 } });
  assert.deepEqual([done.found, done.retried, done.cursor], [2, 2, undefined]);
  assert.equal((await waiting).length, 2);
  assert.equal((await count(node, 'a')).completed, 1);
  for (const body of [{ states: [], expected: 1 }, { expected: 1 }, { states: ['ready'], expected: 1 }]) {
    assert.equal((await node.ask(retry, { body })).status, 400, JSON.stringify(body));
  }
});

test('a queue says how many slots it could use, in the words of autoscalers', async (t) => {
  const world = new VirtualWorld();
  const node = await nodeScene(t, { world, duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  await engine.limits.set('api', { concurrent: 2 });
  for (let i = 0; i < 5; i++) await engine.push({ queue: 'a', handler: 'h', limits: ['api'] });
  world.elapse(2500);
  await engine.push({ queue: 'a', handler: 'h' });
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  const scale = (): Promise<Answer['body']> => node.call('scaleQueue', `${QUEUES}/a/scale`);
  const { runnable, running, blocked_by_limit, oldest_age_s, desired } = await scale();
  assert.deepEqual([runnable, running, blocked_by_limit, oldest_age_s, desired], [2, 1, 3, 2.5, 3]);
  await engine.pause('a');
  assert.deepEqual(await scale(), { runnable: 0, running: 1, blocked_by_limit: 0, oldest_age_s: 0, desired: 1 });
  // An autoscaler asks before the first task: an error would make it wait, or keep what there is.
  const none = await node.call('scaleQueue', `${QUEUES}/none/scale`);
  assert.deepEqual(none, { runnable: 0, running: 0, blocked_by_limit: 0, oldest_age_s: 0, desired: 0 });
  assert.equal((await node.ask(`${QUEUES}/none`)).status, 404, 'asking makes no queue');
  assert.equal((await node.ask(`${QUEUES}/NO%20NAME/scale`)).status, 400);
});

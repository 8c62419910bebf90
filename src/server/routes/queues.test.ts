import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { VirtualWorld } from '../../testing.ts';

const QUEUES = '/api/v1/queues';

test('queues are listed with what is in them', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  assert.deepEqual(await node.call('listQueues', QUEUES), { queues: [] });
  const worker = await engine.registerWorker({ name: 'w', incarnation: 'i', slots: 9 });
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
  const worker = await engine.registerWorker({ name: 'w', incarnation: 'i', slots: 9 });
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

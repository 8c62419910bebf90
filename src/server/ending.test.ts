import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../test/support/node-scene.ts';

/** Requests for the queues wait at a gate. */
function gated(t: TestContext, scene: NodeScene): { readonly asked: Promise<void>; readonly open: () => void } {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { engine } = scene;
  const queues = engine.queues.bind(engine);
  t.mock.method(engine, 'queues', async () => {
    asked.resolve();
    await gate.promise;
    return queues();
  });
  return { asked: asked.promise, open: gate.resolve };
}

test('a node that stops answers what it was asked before, and refuses what comes then', async (t) => {
  const scene = await nodeScene(t);
  const { asked, open } = gated(t, scene);
  const answer = scene.ask('/api/v1/queues');
  await asked;
  const closing = scene.service.close();
  let late = await scene.ask('/healthz');
  while (late.status === 200) late = await scene.ask('/healthz');
  assert.deepEqual([late.status, late.headers.get('connection')], [503, 'close']);
  assert.match(late.headers.get('retry-after') ?? '', /^\d+$/);
  open();
  assert.equal((await answer).status, 200);
  await closing;
});

test('it waits no longer than two seconds for an answer', async (t) => {
  const scene = await nodeScene(t);
  const { asked, open } = gated(t, scene);
  const answer = assert.rejects(scene.ask('/api/v1/queues'));
  await asked;
  await scene.service.close();
  await answer;
  open();
});

test('a claim that waits over HTTP is answered with nothing when the node stops', async (t) => {
  const scene = await nodeScene(t);
  const { secret } = await scene.call('createWorker', '/api/v1/workers', { body: { name: 'far' } });
  const { worker_id: id, session_token: session } = await scene.call('registerWorker', '/workers/register', {
    token: secret,
    body: { hostname: 'far', capabilities: ['echo'], slots: 1 },
  });
  const waiting = scene.ask(`/workers/${id}/claim`, {
    token: null,
    headers: { 'x-session-token': session },
    body: { max: 1, wait_ms: 30_000 },
  });
  while (!scene.engine.readyLanes.waiters.awaited) await new Promise((resolve) => void setImmediate(resolve));
  await scene.service.close();
  assert.equal((await waiting).status, 204);
});

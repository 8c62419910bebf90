/** Workers of loopd. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { begun, left } from '../../../test/support/files/artifact-scene.ts';
import { type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';

interface LoopdWorker {
  readonly scene: NodeScene;
  readonly id: string;
  readonly session: string;
  readonly secret: string;
  /** A call of this worker, by its session. */
  readonly post: (path: string, body?: object) => Promise<{ readonly status: number; readonly body: Wire }>;
}

async function registered(scene: NodeScene, name = 'box', capabilities: unknown = ['build']): Promise<LoopdWorker> {
  const { secret } = await scene.call('createWorker', '/api/v1/workers', { body: { name, tags: ['gpu'] } });
  const input = { hostname: 'elsewhere', capabilities, slots: 4, version: '1.2.3' };
  const answer = await scene.call('registerWorker', '/workers/register', { body: input, token: secret });
  const { worker_id: id, session_token: session } = answer;
  const headers = { 'x-session-token': session };
  return { scene, id, session, secret, post: (path, body = {}) => scene.ask(path, { body, token: null, headers }) };
}

async function running(t: TestContext): Promise<LoopdWorker & { readonly step: Wire }> {
  const own = await registered(await nodeScene(t));
  await own.scene.engine.push({ queue: 'q', handler: 'build', input: { a: 1 } });
  const { status, body } = await own.post(`/workers/${own.id}/claim`);
  assert.equal(status, 200);
  return { ...own, step: body[0] };
}

test('a worker registers, claims, tells, beats and completes', async (t) => {
  const { scene, id, post, step } = await running(t);
  assert.deepEqual([step.phase, step.attempt, step.input, step.queue], ['build', 1, { a: 1 }, 'q']);
  assert.ok(step.lease_expires_at > Date.now());
  const events = [
    { seq: 1, event_type: 'stdout', payload: 'one' },
    { seq: 2, event_type: 'STEP_STARTED', payload: { phase: 'build' } },
  ];
  const logged = { lease_token: step.lease_token, events };
  for (let i = 0; i < 2; i++)
    assert.deepEqual((await post(`/steps/${step.step_id}/events`, logged)).body, { acked_seq: 2 });
  const leases = [{ step_id: step.step_id, lease_token: step.lease_token }];
  const beat = await post(`/workers/${id}/heartbeat`, { status: 'online', metrics: { load: 1 }, leases });
  assert.deepEqual(beat.body, { renewed: [step.step_id], lost: [], cancel: [], drain: false });
  const done = { lease_token: step.lease_token, status: 'succeeded', exit_code: 0, result: { ok: true } };
  for (let i = 0; i < 2; i++) assert.equal((await post(`/steps/${step.step_id}/complete`, done)).status, 200);
  const task = await scene.call('getTask', `/api/v1/tasks/${step.step_id}`);
  const result = { status: 'succeeded', exit_code: 0, result: { ok: true } };
  assert.deepEqual([task.state, task.result, task.worker, task.attempt], ['completed', result, 'box', 1]);
  const log = await scene.call('readLog', `/api/v1/tasks/${step.step_id}/logs`);
  assert.deepEqual(
    log.lines.map(({ text }: Wire) => text),
    ['one', '{"type":"STEP_STARTED","payload":{"phase":"build"}}'],
  );
  const { workers } = await scene.call('listWorkers', '/api/v1/workers');
  assert.deepEqual([workers[0].name, workers[0].host, workers[0].version], ['box', 'elsewhere', '1.2.3']);
});

test('the process of a worker elsewhere is not taken for that of the node', async (t) => {
  const scene = await nodeScene(t);
  await registered(scene);
  const { workers } = await scene.call('listWorkers', '/api/v1/workers');
  assert.deepEqual([workers[0].host, workers[0].address, workers[0].pid], ['elsewhere', '127.0.0.1', undefined]);
});

test('a claim with nothing to do answers 204, and one that waits answers as soon as there is something', async (t) => {
  const { scene, id, post } = await registered(await nodeScene(t));
  const none = await post(`/workers/${id}/claim`, { wait_ms: 0 });
  assert.deepEqual([none.status, none.body], [204, '']);
  const waiting = post(`/workers/${id}/claim`, { max: 5, wait_ms: 30_000 });
  await scene.engine.push({ queue: 'q', handler: 'build' });
  const { status, body } = await waiting;
  assert.deepEqual([status, body.length], [200, 1]);
  await scene.engine.push({ queue: 'q', handler: 'another' });
  assert.equal((await post(`/workers/${id}/claim`)).status, 204, 'it does not run that');
});

test('a stale completion is refused with the order to stop, and changes nothing', async (t) => {
  const { scene, post, step } = await running(t);
  const task = scene.engine.parseId(step.step_id);
  await scene.engine.release({ task, attempt: 1 });
  const late = await post(`/steps/${step.step_id}/complete`, { lease_token: step.lease_token, status: 'succeeded' });
  assert.deepEqual([late.status, late.body.error.code], [409, 'LEASE_LOST']);
  const log = { lease_token: step.lease_token, events: [{ seq: 1, event_type: 'stdout', payload: 'late' }] };
  assert.equal((await post(`/steps/${step.step_id}/events`, log)).status, 409);
  assert.equal((await scene.engine.get(task))?.state, 'ready');
});

test('nobody speaks for the lease of another worker, nor with a token that is not its own', async (t) => {
  const { scene, id, step, session } = await running(t);
  const other = await registered(scene, 'other');
  const done = { lease_token: step.lease_token, status: 'succeeded' };
  const complete = `/steps/${step.step_id}/complete`;
  assert.equal((await other.post(complete, done)).status, 409);
  for (const token of [
    '',
    '1',
    '1.',
    '2.abc',
    `2.${step.lease_token.slice(2)}`,
    step.lease_token.slice(0, -1),
    'x'.repeat(99),
  ]) {
    assert.equal((await other.post(complete, { ...done, lease_token: token })).status, 409, token);
  }
  assert.equal((await other.post(`/workers/${id}/claim`)).status, 403, 'the session of another');
  const lost = await other.post(`/workers/${other.id}/heartbeat`, {
    leases: [{ step_id: step.step_id, lease_token: step.lease_token }],
  });
  assert.deepEqual(lost.body.lost, [step.step_id]);
  assert.equal((await scene.engine.get(scene.engine.parseId(step.step_id)))?.state, 'running');
  const forged = `${session.slice(0, -2)}xx`;
  const headers = { 'x-session-token': forged };
  assert.equal((await scene.ask(complete, { body: done, token: null, headers })).status, 401);
});

test('a failure is tried again, a cancelled one is asked for by the heartbeat and ends', async (t) => {
  const { scene, id, post, step } = await running(t);
  const task = scene.engine.parseId(step.step_id);
  await scene.engine.cancel(task);
  const leases = [{ step_id: step.step_id, lease_token: step.lease_token }];
  const beat = await post(`/workers/${id}/heartbeat`, { leases });
  assert.deepEqual(beat.body.cancel, [{ step_id: step.step_id, reason: 'requested' }]);
  await post(`/steps/${step.step_id}/complete`, { lease_token: step.lease_token, status: 'canceled' });
  assert.equal((await scene.engine.get(task))?.state, 'cancelled');
  await scene.engine.push({ queue: 'q', handler: 'build', maxAttempts: 2 });
  const [again] = (await post(`/workers/${id}/claim`)).body;
  const failed = await post(`/steps/${again.step_id}/complete`, {
    lease_token: again.lease_token,
    status: 'failed',
    exit_code: 3,
  });
  assert.deepEqual([failed.status, failed.body.state], [200, 'scheduled']);
});

test('a claim whose answer could not be written is given back with its try', async (t) => {
  const { scene, id, session } = await registered(await nodeScene(t));
  const { hostname, port } = new URL(scene.service.address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const body = JSON.stringify({ wait_ms: 30_000 });
  const head = `POST /workers/${id}/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nx-session-token: ${session}`;
  socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  while (!scene.engine.readyLanes.waiters.awaited) await new Promise(setImmediate);
  socket.destroy();
  // The server has noticed the hang-up once it answers a later request.
  await scene.ask('/healthz');
  await scene.ask('/healthz');
  const { task } = await scene.engine.push({ queue: 'q', handler: 'build' });
  const worker = await scene.engine.workers.register({ name: 'w', incarnation: 'w', slots: 1 });
  const [grant] = await scene.engine.claim({ worker, max: 1, waitMs: 20_000 });
  assert.deepEqual([grant?.task, grant?.tries], [task, 1], 'the one that nobody heard of cost no try');
});

test('a session ends with the secret that it was begun with, and a worker that is switched off is told to drain', async (t) => {
  const { scene, id, post } = await registered(await nodeScene(t));
  await scene.call('editWorker', '/api/v1/workers/box', { body: { enabled: false } });
  assert.equal((await post(`/workers/${id}/heartbeat`)).body.drain, true);
  await scene.engine.push({ queue: 'q', handler: 'build' });
  assert.equal((await post(`/workers/${id}/claim`)).status, 204);
  await scene.call('removeWorker', '/api/v1/workers/box');
  const until = performance.now() + 5000;
  let status = 200;
  while (status !== 401 && performance.now() < until) ({ status } = await post(`/workers/${id}/heartbeat`));
  assert.equal(status, 401);
});

test('who registers names handlers, no tag that was not given, and has the secret of a worker', async (t) => {
  const scene = await nodeScene(t);
  const { secret } = await scene.call('createWorker', '/api/v1/workers', {
    body: { name: 'box', tags: ['gpu'], handlers: null },
  });
  const register = (capabilities: unknown, token = secret) =>
    scene.ask('/workers/register', { body: { hostname: 'h', capabilities }, token });
  assert.equal((await register([])).status, 400);
  assert.equal((await register({ handlers: ['build'], tags: ['gpu'] })).status, 200);
  assert.equal((await register({ handlers: ['build'], tags: ['root'] })).status, 403);
  assert.equal((await register(['build'], scene.admin)).status, 403);
  // The registration goes with every call.
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `handler-${i}`.padEnd(60, 'x'));
  const { status, body } = await register(many(120));
  assert.equal(status, 200);
  const headers = { 'x-session-token': body.session_token };
  assert.equal((await scene.ask(`/workers/${body.worker_id}/claim`, { body: {}, token: null, headers })).status, 204);
  const tooMany = await register(many(1000));
  assert.deepEqual([tooMany.status, tooMany.body.error.code], [413, 'TOO_LARGE']);
  assert.equal((await scene.engine.workers.list()).length, 2, 'nobody was registered who could not say anything');
});

test('everything that a worker says with the end of a step is kept and shown', async (t) => {
  const { scene, id, post, step } = await running(t);
  const told = { exit_code: 3, output_path: '/out/log.txt', artifact_refs: [{ uri: 's3://b/a' }, 'b'], commit: 'abc' };
  const ended = async (one: Wire, body: object): Promise<Wire> => {
    assert.equal((await post(`/steps/${one.step_id}/complete`, { lease_token: one.lease_token, ...body })).status, 200);
    return scene.call('getTask', `/api/v1/tasks/${one.step_id}`);
  };
  const next = async (maxAttempts = 1): Promise<Wire> => {
    await scene.engine.push({ queue: 'q', handler: 'build', maxAttempts });
    return (await post(`/workers/${id}/claim`)).body[0];
  };
  const done = { status: 'completed', ...told, result: { ok: true } };
  assert.deepEqual((await ended(step, done)).result, done);
  assert.deepEqual((await ended(await next(), { status: 'succeeded', result: [1] })).result, [1], 'a result alone');
  assert.deepEqual((await ended(await next(), { status: 'succeeded' })).result, { status: 'succeeded' });
  const failed = { status: 'failed', ...told, result: { tests: 7 } };
  const { state, error } = await ended(await next(), { ...failed, error: 'no such file' });
  assert.deepEqual([state, error], ['failed', { message: 'no such file', ...failed }]);
  const shown = await ended(await next(), { ...failed, error: { code: 'E1', message: 'm' } });
  assert.deepEqual(shown.error, { code: 'E1', message: 'm', ...failed });
  const retried = await ended(await next(2), { ...failed, error: 4 });
  assert.deepEqual(retried.attempts[0].error, { message: 'the step failed', ...failed, error: 4 });
  for (const hidden of [{ status: 500, code: 'E2' }, { message: 7 }, { exit_code: 9, message: 'm' }]) {
    const { error: kept } = await ended(await next(), { ...failed, error: hidden });
    assert.deepEqual([kept.status, kept.exit_code, kept.error], ['failed', 3, hidden], 'fields of the same name');
  }
  const cancelling = await next();
  await scene.engine.cancel(scene.engine.parseId(cancelling.step_id));
  const stopped = await ended(cancelling, { status: 'canceled', ...told });
  assert.deepEqual([stopped.state, stopped.error], ['cancelled', { status: 'canceled', ...told }]);
  const large = await next();
  const body = { lease_token: large.lease_token, status: 'failed', error: 'x'.repeat(1_048_576) };
  assert.equal((await post(`/steps/${large.step_id}/complete`, body)).status, 413, 'and nothing is dropped in silence');
});

test('a step that refers to an artifact of ours must have left it, whole; other references are texts of their own', async (t) => {
  const { scene, post, step } = await running(t);
  const lease = { task: scene.engine.parseId(step.step_id), attempt: step.attempt };
  const [{ id: whole }, { id: half }, { id: strange }] = [
    await left(scene, { lease, name: 'out' }),
    await begun(scene, { lease, name: 'half' }),
    await left(scene),
  ];
  const body = { lease_token: step.lease_token, status: 'completed' };
  for (const ref of [half, strange, `art_${'0'.repeat(32)}`, 'art_none']) {
    const refused = await post(`/steps/${step.step_id}/complete`, { ...body, artifact_refs: [whole, ref] });
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'ARTIFACT_UNKNOWN'], ref);
  }
  assert.equal((await scene.engine.get(lease.task))?.state, 'running');
  const artifact_refs = [whole, 's3://b/a', { uri: 'art_like' }];
  assert.equal((await post(`/steps/${step.step_id}/complete`, { ...body, artifact_refs })).status, 200);
  const { result } = await scene.call('getTask', `/api/v1/tasks/${step.step_id}`);
  assert.deepEqual(result.artifact_refs, artifact_refs);
});

test('what a worker says of itself with a heartbeat is kept and shown, until it says something else', async (t) => {
  const { scene, id, post } = await registered(await nodeScene(t));
  const shown = async (): Promise<Wire> => (await scene.call('getWorker', '/api/v1/workers/box')).processes[0];
  const said = async (body: object): Promise<void> => {
    assert.equal((await post(`/workers/${id}/heartbeat`, body)).status, 200);
  };
  await said({ status: 'draining', metrics: { load: 0.5, disks: ['a', 'b'] } });
  const first = await shown();
  assert.deepEqual(
    [first.state, first.status, first.metrics],
    ['draining', 'draining', { load: 0.5, disks: ['a', 'b'] }],
  );
  await said({ status: 'busy' });
  const second = await shown();
  assert.deepEqual([second.state, second.status, second.metrics], ['online', 'busy', first.metrics], 'figures stay');
  await said({ status: 'busy', metrics: { load: 2 } });
  await said({ status: 'offline' });
  assert.deepEqual((await shown()).metrics, { load: 2 });
  const large = await post(`/workers/${id}/heartbeat`, { metrics: { x: 'x'.repeat(70_000) } });
  assert.deepEqual([large.status, large.body.error.code], [413, 'TOO_LARGE'], 'and it is told so');
});

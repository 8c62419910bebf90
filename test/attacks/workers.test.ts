/** Attacks by a worker that is not what it says, or no longer ours. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isTaskEvent } from '../../src/core/task/event.ts';
import { isFinal } from '../../src/core/task/task.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { proofOf, RawWorker } from '../support/raw-worker.ts';
import { codeOf, comeIn, hire, STORES, target } from './scene.ts';

const PUSH = { queue: 'q', handler: 'echo' } as const;

interface Session {
  readonly id: string;
  readonly headers: { readonly 'x-session-token': string };
}

/** A turn that remembers. */
const remembering = (key: string, value: string): object => ({
  entries: [{ key, kind: 'value', value }],
  then: { go: 'on' },
});

/** A turn that starts a child. */
const bearing = (handler: string): object => ({
  entries: [{ key: 'child', kind: 'child', child: { queue: 'q', handler } }],
  then: { go: 'on' },
});

const REGISTRATION = { hostname: 'h', capabilities: ['echo'] };

/** A worker over HTTP; one name has one holder, so that the place of it must be free. */
async function register(node: NodeScene, secret: string): Promise<Session> {
  const made = await node.call('registerWorker', '/workers/register', { token: secret, body: REGISTRATION });
  return { id: made.worker_id, headers: { 'x-session-token': made.session_token } };
}

/** Comes again until the place of its name is free, which is a moment after its connection has ended. */
async function registerNext(node: NodeScene, secret: string): Promise<Session> {
  for (;;) {
    const { status, body } = await node.ask('/workers/register', { token: secret, body: REGISTRATION });
    if (status === 200) return { id: body.worker_id, headers: { 'x-session-token': body.session_token } };
    assert.deepEqual([status, body.error.code], [409, 'CONFLICT']);
  }
}

/** A worker over HTTP that was let in, and its secret. */
async function hireOverHttp(node: NodeScene, name: string): Promise<Session & { readonly secret: string }> {
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name } });
  return { ...(await register(node, secret)), secret };
}

/** It says that it goes: its name is free. */
async function signOff(node: NodeScene, { id, headers }: Session): Promise<void> {
  await node.call('beatWorker', `/workers/${id}/heartbeat`, { token: null, headers, body: { status: 'offline' } });
}

test('A7: a worker can neither end, nor log for, nor read what another one holds', async (t) => {
  const { node } = await target(t);
  const thief = await hire(node, 'thief');
  const owner = await hire(node, 'owner');
  const { task, id } = await node.engine.push({ ...PUSH, input: { secret: 4711 } });
  const lease = proofOf(await owner.worker.claimOne());
  await owner.worker.told('task_turn', { lease, ...remembering('step:a', '{"secret":4711}') });
  await node.engine.push(PUSH);
  const own = proofOf(await thief.worker.claimOne());
  const forged = [
    lease,
    { ...own, task },
    { ...lease, token: own.token },
    { ...lease, token: '' },
    { ...lease, token: lease.token.slice(0, -1) },
    { ...lease, token: lease.token.toLowerCase() },
    { ...lease, attempt: 2 },
  ];
  const asks: readonly (readonly [string, object])[] = [
    ['task_complete', { result: '"stolen"' }],
    ['task_failed', { error: '"stolen"', giveUp: true }],
    ['task_release', {}],
    ['task_cancelled', {}],
    ['task_progress', { logs: [{ seq: 1, at: 0, stream: 'log', text: 'stolen' }] }],
    ['journal', {}],
    ['task_turn', remembering('step:b', '"stolen"')],
    ['task_turn', { entries: [], then: { go: 'park', key: 'w', timeoutMs: 1 } }],
    ['task_turn', { entries: [], then: { go: 'complete', result: '"stolen"' } }],
    ['task_turn', { entries: [], then: { go: 'fail', error: '"stolen"', giveUp: true } }],
    ['waited', {}],
    ['task_turn', bearing('stolen')],
    ['results', { tasks: [task] }],
    ['dependencies', {}],
    ['reusable', {}],
    ['keep', { result: '"stolen"' }],
  ];
  for (const proof of forged) {
    for (const [type, fields] of asks) {
      const error = await thief.worker.denied(type, { lease: proof, ...fields });
      assert.equal(error.code, 'LEASE_LOST', type);
      assert.doesNotMatch(JSON.stringify(error), /4711/);
    }
    assert.deepEqual(await thief.worker.told('lease_renew', { leases: [proof] }), ['lost']);
  }

  const [a, b] = [await hireOverHttp(node, 'thief-http'), await hireOverHttp(node, 'owner-http')];
  await node.engine.push({ ...PUSH, queue: 'http' });
  const [step] = await node.call('claimSteps', `/workers/${b.id}/claim`, { token: null, headers: b.headers, body: {} });
  const as = ({ headers }: Session, path: string, body: object) => node.ask(path, { token: null, headers, body });
  const { step_id: stepId, lease_token: leaseToken } = step;
  const complete = { lease_token: leaseToken, status: 'completed' };
  assert.equal(codeOf(await as(a, `/steps/${stepId}/complete`, complete)), '409 LEASE_LOST');
  const events = { lease_token: leaseToken, events: [{ seq: 1, event_type: 'log', payload: 'stolen' }] };
  assert.equal(codeOf(await as(a, `/steps/${stepId}/events`, events)), '409 LEASE_LOST');
  assert.equal(codeOf(await as(a, `/workers/${b.id}/claim`, {})), '403 FORBIDDEN');
  assert.equal(codeOf(await as(a, `/workers/${b.id}/heartbeat`, {})), '403 FORBIDDEN');
  const beat = await as(a, `/workers/${a.id}/heartbeat`, { leases: [{ step_id: stepId, lease_token: leaseToken }] });
  assert.deepEqual([beat.body.renewed, beat.body.lost], [[], [stepId]]);
  // A proof that was made out to a worker over HTTP is none over WebSocket, and the other way round.
  const [attempt = '', token = ''] = leaseToken.split('.');
  const crossed = { task: node.engine.parseId(stepId), attempt: Number(attempt), token };
  assert.equal((await owner.worker.denied('task_complete', { lease: crossed })).code, 'LEASE_LOST');
  assert.equal(
    codeOf(
      await as(b, `/steps/${id}/complete`, { lease_token: `${lease.attempt}.${lease.token}`, status: 'completed' }),
    ),
    '409 LEASE_LOST',
  );

  const tasks = (await node.call('listTasks', '/api/v1/tasks?limit=100')).tasks;
  assert.equal(tasks.length, 3, 'nothing was spawned');
  assert.ok(tasks.every((one: { state: string; attempt: number }) => one.state === 'running' && one.attempt === 1));
  assert.deepEqual((await node.call('readLog', `/api/v1/tasks/${id}/logs`)).lines, []);
  assert.equal((await as(b, `/steps/${stepId}/complete`, complete)).status, 200, 'its owner has it still');
  await owner.worker.told('task_complete', { lease, result: '1' });

  // Not even under the same name and secret.
  await node.engine.push({ ...PUSH, queue: 'http' });
  const [left] = await node.call('claimSteps', `/workers/${b.id}/claim`, { token: null, headers: b.headers, body: {} });
  await signOff(node, b);
  const socket = await comeIn(node, { name: 'owner-http', secret: b.secret });
  const [nth = '', key = ''] = left.lease_token.split('.');
  const called = { task: node.engine.parseId(left.step_id), attempt: Number(nth), token: key };
  assert.equal((await socket.denied('task_complete', { lease: called })).code, 'LEASE_LOST');
  const next = await node.engine.push(PUSH);
  const held = proofOf(await owner.worker.claimOne());
  await owner.worker.hangUp();
  const calls = await registerNext(node, owner.secret);
  const ended = { lease_token: `${held.attempt}.${held.token}`, status: 'completed' };
  assert.equal(codeOf(await as(calls, `/steps/${next.id}/complete`, ended)), '409 LEASE_LOST');
  for (const still of [called.task, held.task]) assert.equal((await node.engine.get(still))?.state, 'running');
});

test('A7: who held a task before reads nothing of what the one after it has written', async (t) => {
  const { node } = await target(t);
  const before = await hire(node, 'before');
  const after = await hire(node, 'after');
  await node.engine.push(PUSH);
  const old = proofOf(await before.worker.claimOne());
  await before.worker.told('task_release', { lease: old });
  const lease = proofOf(await after.worker.claimOne());
  await after.worker.told('task_turn', { lease, ...remembering('step:a', '{"secret":4711}') });
  for (const [type, fields] of [
    ['journal', {}],
    ['waited', {}],
    ['dependencies', {}],
    ['results', { tasks: [lease.task] }],
    ['task_complete', {}],
  ] as const) {
    assert.equal((await before.worker.denied(type, { lease: old, ...fields })).code, 'LEASE_LOST', type);
  }
  assert.equal((await after.worker.told('journal', { lease })).length, 1);
});

test('A8: a worker that says more of itself than it was given is refused, and whatever else it says gives it nothing', async (t) => {
  const { node } = await target(t);
  await node.engine.workers.set({ name: 'box', tags: ['given'] });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', tags: ['given'] } });
  const greet = async (more: object): Promise<string | undefined> => {
    const worker = await RawWorker.dial(node.service.address);
    const said = await worker.greet({ name: 'box', secret, ...more });
    await worker.hangUp();
    return said.error?.code;
  };
  for (const tags of [['gpu'], ['given', 'gpu'], ['GIVEN'], ['given '], ['given=1'], [' given']]) {
    assert.equal(await greet({ tags }), 'FORBIDDEN', JSON.stringify(tags));
  }
  assert.equal(await greet({ name: 'other' }), 'FORBIDDEN', 'another name');
  const http = (capabilities: object) =>
    node.ask('/workers/register', { token: secret, body: { hostname: 'h', capabilities } });
  assert.equal(codeOf(await http({ handlers: ['echo'], tags: ['gpu'] })), '403 FORBIDDEN');

  // What we have no word for may be one of a later version: it is let in, and nothing comes of it.
  const given = async (): Promise<object> => {
    const { enabled, priority, tags, handlers, queues, slots, permissions, carries } = await node.call(
      'getWorker',
      '/api/v1/workers/box',
    );
    return { enabled, priority, tags, handlers, queues, slots, permissions, carries };
  };
  const before = { ...(await given()), carries: ['given'] };
  await node.engine.push({ ...PUSH, placement: { credentials: ['all'] } });
  const boast = { enabled: true, permissions: { handlers: ['*'], queues: ['*'] } };
  for (const extra of [
    { enabled: true },
    { role: 'admin' },
    { credentials: ['all'] },
    boast,
    { token: 1 },
    { __proto__x: 1 },
  ]) {
    const worker = await comeIn(node, { name: 'box', secret, tags: ['given'], ...extra });
    assert.deepEqual(await worker.claim(), [], JSON.stringify(extra));
    assert.deepEqual(await given(), before, JSON.stringify(extra));
    assert.equal(codeOf(await node.ask('/api/v1/tasks', { token: secret })), '403 FORBIDDEN');
    await worker.hangUp();
  }
  await node.engine.workers.set({ name: 'box', enabled: false });
  await node.engine.push(PUSH);
  const boaster = await comeIn(node, { name: 'box', secret, ...boast });
  assert.deepEqual(await boaster.claim(), [], 'it does not enable itself');
  await node.engine.workers.set({ name: 'box', enabled: true });
  const [lease] = (await boaster.claim(1, 60_000)).map(proofOf);
  assert.equal((await boaster.denied('task_turn', { lease, ...bearing('other') })).code, 'FORBIDDEN');
  await boaster.told('task_complete', { lease });
  await boaster.hangUp();

  // Lying about less is not to be had either: what was given is what counts, whatever it says.
  await node.engine.push({ ...PUSH, placement: { requires: ['gpu'] } });
  const worker = await comeIn(node, { name: 'box', secret, tags: [] });
  assert.deepEqual(await worker.claim(), []);
  await node.engine.workers.set({ name: 'box', tags: ['given', 'gpu'] });
  assert.equal((await worker.claim(1, 60_000)).length, 1);
});

test('A9: frames that come twice, late or in another order change nothing that one of each would not have', async (t) => {
  const { node } = await target(t);
  const { worker, secret } = await hire(node, 'box');
  const { task, id } = await node.engine.push({ ...PUSH, maxAttempts: 9 });
  const first = proofOf(await worker.claimOne());
  const n = worker.number();
  const complete = { type: 'task_complete', n, lease: first, result: '{"once":1}' };
  const log = {
    type: 'task_progress',
    n: worker.number(),
    lease: first,
    logs: [{ seq: 1, at: 0, stream: 'log', text: 'one' }],
  };
  for (let i = 0; i < 5; i++) worker.say(log);
  worker.say([log, log, log]);
  await worker.quiet();
  assert.equal((await node.call('readLog', `/api/v1/tasks/${id}/logs`)).lines.length, 1);
  for (let i = 0; i < 5; i++) worker.say(complete);
  worker.say([complete, log, complete]);
  await worker.quiet();
  const events = await Array.fromAsync(
    (async function* () {
      for (const event of (await node.engine.store.eventRead({ after: 0, limit: 100 })).events)
        if (isTaskEvent(event) && event.task === task) yield event.change;
    })(),
  );
  assert.deepEqual(events, ['created', 'claimed', 'completed']);
  assert.deepEqual((await node.engine.get(task))?.result, '{"once":1}');

  // Recorded, and played again when the task runs once more: by the same worker, on another connection, under the same numbers.
  await node.engine.retry(task);
  await worker.hangUp();
  const again = await comeIn(node, { name: 'box', secret });
  const second = proofOf(await again.claimOne());
  assert.equal(second.attempt, 2);
  again.say([
    { ...complete, n: 75 },
    { ...log, n: 76 },
    { type: 'task_failed', n: 77, lease: first, error: '"old"' },
    { type: 'task_release', n: 78, lease: first },
  ]);
  await again.quiet();
  assert.equal((await node.engine.get(task))?.state, 'running', 'the old frames are those of an old attempt');
  // What ends it comes before what it does: the rest is too late.
  again.say([
    { type: 'task_complete', n: 80, lease: second, result: '2' },
    { type: 'task_progress', n: 81, lease: second, logs: [{ seq: 1, at: 0, stream: 'log', text: 'late' }] },
    { type: 'task_turn', n: 82, lease: second, ...bearing('echo') },
    { type: 'task_failed', n: 83, lease: second, error: '"late"' },
  ]);
  assert.equal((await again.hear(({ re }) => re === 83)).error?.code, 'LEASE_LOST');
  assert.equal((await again.hear(({ re }) => re === 82)).error?.code, 'LEASE_LOST');
  assert.deepEqual([(await node.engine.get(task))?.state, (await node.engine.get(task))?.result], ['completed', '2']);
  assert.deepEqual(
    (await node.engine.queues()).map(({ stats }) => stats.ready),
    [0],
  );
});

test('A59: a second process of a connected name is refused, sees nothing of the first, and both can be told apart', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const worker = await comeIn(node, { name: 'box', secret, incarnation: 'first' });
  await node.engine.push(PUSH);
  const lease = proofOf(await worker.claimOne());
  const second = await RawWorker.dial(node.service.address);
  const error = await second.refused({ name: 'box', secret, incarnation: 'second', holding: [lease] });
  assert.equal(error.code, 'CONFLICT');
  assert.match(error.message, /a worker named box is connected already/);
  const hello = { name: 'box', incarnation: 'second', slots: 1, tags: [], handlers: ['echo'] };
  for (const [path, body] of [
    ['/workers/register', REGISTRATION],
    ['/workers/join', hello],
  ] as const) {
    assert.equal(codeOf(await node.ask(path, { token: secret, body })), '409 CONFLICT', path);
  }
  assert.deepEqual(await worker.told('lease_renew', { leases: [lease] }), ['held']);

  // Once the first one has hung up another one may come, and has nothing of what that held.
  await worker.hangUp();
  const over = await registerNext(node, secret);
  const stolen = await node.ask(`/steps/${node.engine.idOf((await node.engine.get(lease.task)) as never)}/complete`, {
    token: null,
    headers: over.headers,
    body: { lease_token: `${lease.attempt}.${lease.token}`, status: 'completed' },
  });
  assert.equal(codeOf(stolen), '409 LEASE_LOST', 'the same secret, another incarnation');
  const { workers } = await node.call('listWorkers', '/api/v1/workers');
  const boxes = workers.filter((one: { name: string }) => one.name === 'box');
  assert.equal(boxes.length, 2, 'both are shown');
  assert.notEqual(boxes[0].id, boxes[1].id);
  assert.deepEqual(boxes.map((one: { running: number }) => one.running).sort(), [0, 1]);
  const first = { name: 'box', secret, incarnation: 'first', holding: [lease] };
  const early = await RawWorker.dial(node.service.address);
  assert.equal((await early.refused(first)).code, 'CONFLICT', 'the name is that of the second one by now');
  await signOff(node, over);
  await (await comeIn(node, first)).told('task_complete', { lease });
});

test('A8: a worker hears of the pause of queues that it may serve, and of no other', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', queues: ['mine'] } });
  const worker = await comeIn(node, { name: 'box', secret, queues: ['mine'] });
  await node.engine.push({ queue: 'private', handler: 'echo' });
  await node.engine.push({ queue: 'mine', handler: 'echo' });
  await node.engine.pause('private');
  await node.engine.pause('mine');
  await worker.hear(({ type }) => type === 'queue_paused');
  await worker.quiet();
  assert.doesNotMatch(JSON.stringify(worker.heard), /private/);
});

test('A60: whatever a worker sends as a result is bounded and kept as data, and the node goes on', async (t) => {
  const { node, log } = await target(t);
  const { worker, secret } = await hire(node, 'box');
  const held = async (by = worker) => {
    await node.engine.push({ ...PUSH, maxAttempts: 50 });
    return proofOf(await by.claimOne());
  };
  const lease = await held();
  const deny = async (result: string): Promise<string> =>
    (await worker.denied('task_complete', { lease, result })).code;
  assert.equal(await deny('x'), 'INVALID_INPUT', 'no JSON');
  assert.equal(await deny(`${'['.repeat(100)}${']'.repeat(100)}`), 'INVALID_INPUT', 'too deep');
  assert.equal(await deny('['.repeat(1_000_000)), 'INVALID_INPUT', 'far too deep');
  assert.equal(await deny(JSON.stringify('x'.repeat(2 * 1024 * 1024))), 'TOO_LARGE');
  assert.equal(await deny('"\\u0000"'), 'INVALID_INPUT');
  assert.equal(await deny('"\\ud800"'), 'INVALID_INPUT');
  assert.equal(await deny('{"__proto__":{"admin":true}}'), 'INVALID_INPUT');
  assert.equal(await deny('1e999'), 'INVALID_INPUT');
  assert.equal(await deny('9007199254740993'), 'INVALID_INPUT');
  assert.equal((await node.engine.get(lease.task))?.state, 'running');
  const evil = '<script>alert(1)</script>\u001b]52;c;eA==\u0007\u202e';
  await worker.told('task_complete', { lease, result: JSON.stringify({ evil }) });
  const { headers, body } = await node.ask(`/api/v1/tasks/${lease.task}`);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(body.result.evil, evil, 'for programs nothing is lost');

  // Larger than any frame may be: the connection ends, and no other.
  const quiet = await hire(node, 'quiet');
  const doomed = await held();
  worker.say(
    JSON.stringify({
      type: 'task_complete',
      n: 999,
      lease: doomed,
      result: JSON.stringify('x'.repeat(5 * 1024 * 1024)),
    }),
  );
  assert.equal((await worker.closed).code, 1009);
  await quiet.worker.quiet();
  await comeIn(node, { name: 'box', secret });
  const over = await hireOverHttp(node, 'caller');
  await node.engine.push({ ...PUSH, queue: 'http' });
  const [step] = await node.call('claimSteps', `/workers/${over.id}/claim`, {
    token: null,
    headers: over.headers,
    body: { max: 1, wait_ms: 30_000 },
  });
  const send = (body: string) =>
    node.ask(`/steps/${step.step_id}/complete`, { token: null, headers: over.headers, body });
  const start = `{"lease_token":${JSON.stringify(step.lease_token)},"status":"completed","result":`;
  assert.equal(codeOf(await send(`${start}${'['.repeat(500_000)}`)), '400 INVALID_INPUT');
  assert.equal((await send(`${start}${JSON.stringify('x'.repeat(17 * 1024 * 1024))}}`)).status, 413);
  assert.equal(codeOf(await send(`${start}${JSON.stringify('x'.repeat(3 * 1024 * 1024))}}`)), '413 TOO_LARGE');
  assert.equal((await send(`${start}"fine"}`)).status, 200);
  assert.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});

/** Claims that are under way while the secret of their worker ends, on any way that it can end. */
async function revokeDuringClaims(t: TestContext, store: string): Promise<void> {
  const { node } = await target(t, { store });
  const ways: Readonly<Record<string, (name: string, token: number) => Promise<unknown>>> = {
    removed: (name) => node.call('removeWorker', `/api/v1/workers/${name}`),
    revoked: (_name, token) => node.call('revokeToken', `/api/v1/tokens/${token}`),
    rotated: (name) => node.call('rotateWorker', `/api/v1/workers/${name}/rotate`, { body: { grace: 0 } }),
  };
  for (const [way, end] of Object.entries(ways)) {
    const { worker } = await hire(node, way);
    const over = await hireOverHttp(node, `${way}-http`);
    const { tokens } = await node.call('listTokens', '/api/v1/tokens');
    // They wait for work, over either way, when their secrets end and work comes right behind it.
    worker.say({ type: 'task_claim', n: 500, max: 5, waitMs: 60_000 });
    const polled = node.ask(`/workers/${over.id}/claim`, {
      token: null,
      headers: over.headers,
      body: { max: 5, wait_ms: 1000 },
    });
    await worker.quiet();
    for (const name of [way, `${way}-http`]) {
      const token = tokens.find((one: { kind: string; name: string }) => one.kind === 'secret' && one.name === name);
      await end(name, token.id);
    }
    const pushed = await node.engine.pushMany(Array.from({ length: 20 }, () => PUSH));
    const { status } = await polled;
    assert.ok(status === 204 || status === 401, `${way}: ${status}`);
    assert.equal((await worker.closed).code, 4401, way);
    const records = await Promise.all(pushed.map(({ task }) => node.engine.get(task)));
    for (const record of records) {
      assert.deepEqual([record?.state, record?.attempt], ['ready', 0], `${way}: nothing was granted after the end`);
    }
    const other = await hire(node, `after-${way}`);
    for (let got = 0; got < 20; ) {
      const leases = await other.worker.claim(20, 60_000);
      got += leases.length;
      for (const lease of leases) await other.worker.told('task_complete', { lease: proofOf(lease) });
    }
    await other.worker.hangUp();
    assert.ok(
      (await Promise.all(pushed.map(({ task }) => node.engine.get(task)))).every((one) => one && isFinal(one.state)),
    );
  }
}

for (const store of ['sqlite', 'postgres'] as const) {
  test(`A62: a claim that is under way while its worker is revoked is granted nothing (${store})`, async (t) => {
    await revokeDuringClaims(t, await STORES[store]());
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wire } from '../../../test/support/node-scene.ts';
import { type RpcScene, rpcScene } from '../../../test/support/rpc-scene.ts';

/** A task of the engine that is ready. */
async function ready(it: RpcScene, more: object = {}): Promise<string> {
  return (await it.engine.push({ queue: 'q', handler: 'echo', input: { a: 1 }, ...more })).id;
}

test('registering a node again changes nothing; saying something else of it replaces what was said', async (t) => {
  const it = await rpcScene(t);
  const node = { node_id: 'n1', executor_types: ['echo'], capabilities: { gpu: 'nvidia', memory_gb: 32 } };
  const first = await it.call('register_node', node);
  assert.deepEqual([first.status, first.registered, first.lease_duration_seconds], ['healthy', true, 30]);
  const before = await it.engine.workers.list();
  assert.equal((await it.call('distributed.register_node', node)).registered, false);
  assert.deepEqual(
    (await it.engine.workers.list()).map(({ worker }) => worker),
    before.map(({ worker }) => worker),
  );
  assert.deepEqual([before[0]?.tags, before[0]?.handlers], [['gpu=nvidia', 'memory_gb=32'], ['echo']]);
  assert.equal((await it.call('register_node', { ...node, capabilities: ['gpu'] })).registered, true);
  const states = (await it.engine.workers.list()).map(({ state, tags }) => `${state} ${tags.join()}`);
  assert.deepEqual(states.toSorted(), ['offline gpu=nvidia,memory_gb=32', 'online gpu']);
});

test('a node that is not known is told so, and one that is gone too', async (t) => {
  const it = await rpcScene(t);
  const id = await ready(it);
  for (const [method, params] of [
    ['heartbeat', {}],
    ['find_executable_tasks', {}],
    ['acquire_lease', { task_id: id }],
  ] as const) {
    const { error } = await it.ask(method, { node_id: 'n1', ...params });
    assert.deepEqual([error.code, error.data.code], [-32602, 'NOT_FOUND'], method);
  }
  assert.deepEqual(await it.call('deregister_node', { node_id: 'n1' }), { node_id: 'n1', deregistered: false });
  await it.register();
  assert.deepEqual(await it.call('deregister_node', { node_id: 'n1' }), { node_id: 'n1', deregistered: true });
  assert.equal(await it.refusal('heartbeat', { node_id: 'n1' }), -32602);
  await it.register();
  assert.equal((await it.call('heartbeat', { node_id: 'n1' })).status, 'healthy');
});

test('the feed tells of a node that has registered, and not of the same registration again', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.register();
  const { events } = await it.node.call('readEvents', '/api/v1/events/page?after=0');
  const told = events.filter(({ kind }: Wire) => kind === 'registered');
  assert.deepEqual(
    told.map(({ words, worker }: Wire) => [words, worker]),
    [[['WORKER_REGISTERED'], 'n1']],
  );
});

test('a node that fell silent is there again when it speaks', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  const [worker] = await it.engine.workers.list();
  // As the reaper does it for a worker that was silent for longer than that.
  const duty = await it.engine.store.dutyTake({ name: 'test', holder: 'test', ttlMs: 60_000 });
  assert.ok(duty && worker);
  await it.engine.store.workerReap({ duty, staleMs: -1 });
  assert.equal((await it.engine.workers.list())[0]?.state, 'lost');
  assert.deepEqual((await it.call('system.executors')).executors, []);
  assert.equal((await it.call('heartbeat', { node_id: 'n1' })).status, 'healthy');
  assert.deepEqual(
    (await it.engine.workers.list()).map(({ worker: id, state }) => [id, state]),
    [[worker.worker, 'online']],
  );
});

test('a node goes, and what it has leased is neither lost nor in its way', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  const id = await ready(it);
  const { lease_token } = await it.call('acquire_lease', { node_id: 'n1', task_id: id });
  await it.call('deregister_node', { node_id: 'n1' });
  assert.equal((await it.call('renew_lease', { lease_token })).renewed, true);
  const done = await it.call('report_completion', { task_id: id, node_id: 'n1', lease_token, result: 1 });
  assert.equal(done.status, 'completed');
});

test('the secret of a worker is good for its own node, with the capabilities that it was given', async (t) => {
  const it = await rpcScene(t);
  const token = await it.secret('box', ['gpu=nvidia']);
  const other = await it.secret('other');
  const node = { node_id: 'box', executor_types: ['echo'] };
  assert.equal(await it.refusal('register_node', { ...node, node_id: 'nobox' }, { token }), -32004);
  assert.equal(await it.refusal('register_node', { ...node, capabilities: { gpu: 'amd' } }, { token }), -32004);
  await it.call('register_node', { ...node, capabilities: { gpu: 'nvidia' } }, { token });
  await it.call('register_node', { ...node, node_id: 'other' }, { token: other });
  const id = await ready(it, { placement: { requires: ['gpu=nvidia'] } });
  assert.equal(await it.refusal('acquire_lease', { node_id: 'box', task_id: id }, { token: other }), -32004);
  const { lease_token } = await it.call('acquire_lease', { node_id: 'box', task_id: id }, { token });
  assert.equal(await it.refusal('renew_lease', { lease_token }, { token: other }), -32004);
  assert.equal(await it.refusal('release_lease', { task_id: id, lease_token }, { token: other }), -32004);
  const report = { task_id: id, lease_token, result: 1 };
  assert.equal(await it.refusal('report_completion', { ...report, node_id: 'box' }, { token: other }), -32004);
  assert.equal(await it.refusal('report_completion', { ...report, node_id: 'other' }, { token: other }), -32006);
  const beat = await it.call('heartbeat', { node_id: 'other', leases: [lease_token] }, { token: other });
  assert.deepEqual([beat.renewed, beat.lost], [[], [lease_token]]);
  assert.equal((await it.call('report_completion', { ...report, node_id: 'box' }, { token })).status, 'completed');
});

test('the secret of a worker finds tasks of its grant only, and hears of no other how it fares', async (t) => {
  const it = await rpcScene(t);
  const token = await it.secret('box');
  await it.engine.workers.set({ name: 'box', grant: { handlers: ['echo'], queues: ['work'] } });
  await it.call('register_node', { node_id: 'box', executor_types: ['echo'] }, { token });
  const own = await it.engine.push({ queue: 'work', handler: 'echo' });
  await it.engine.push({ queue: 'private', handler: 'echo', priority: 9 });
  const found = await it.call('find_executable_tasks', { node_id: 'box', limit: 1 }, { token });
  assert.deepEqual(
    found.map(({ id }: { id: string }) => id),
    [own.id],
  );
  const free = await it.secret('free');
  await it.call('register_node', { node_id: 'free', executor_types: ['echo'] }, { token: free });
  const other = await it.engine.push({ queue: 'private', handler: 'pay' });
  const told = async (): Promise<string> =>
    JSON.stringify((await it.ask('acquire_lease', { node_id: 'free', task_id: other.id }, { token: free })).error);
  const before = await told();
  await it.engine.cancel(other.task);
  assert.equal(await told(), before, 'the same, whatever becomes of it');
});

test('of many who ask for one lease one gets it, and its token says all that is needed', async (t) => {
  const it = await rpcScene(t);
  await it.register('n1');
  await it.register('n2');
  const id = await ready(it);
  const answers = await Promise.all(
    [...Array(8)].map((_, i) => it.ask('acquire_lease', { task_id: id, node_id: `n${(i % 2) + 1}` })),
  );
  const won = answers.filter(({ result }) => result !== undefined);
  assert.equal(won.length, 1);
  const { lease_token, attempt, ttl, inputs, method, task_id } = won[0].result;
  assert.deepEqual([attempt, ttl, inputs, method, task_id], [1, 30, { a: 1 }, 'echo', id]);
  assert.deepEqual(new Set(answers.filter(({ error }) => error).map(({ error }) => error.code)), new Set([-32008]));
  assert.equal((await it.call('renew_lease', { lease_token })).ttl, 30);
});

test('a wrong token has no effect: not to renew, not to release, not to report', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  const [id, other] = [await ready(it), await ready(it)];
  const { lease_token } = await it.call('acquire_lease', { node_id: 'n1', task_id: id });
  const wrong = [`${lease_token}x`, lease_token.replace(/^\d+\.1/, (text: string) => text.replace(/1$/, '2')), 'x'];
  for (const token of wrong) {
    assert.equal(await it.refusal('renew_lease', { lease_token: token }), -32006);
    assert.deepEqual(await it.call('release_lease', { task_id: id, lease_token: token }), { released: false });
    const report = { task_id: id, node_id: 'n1', lease_token: token, result: 1 };
    assert.equal(await it.refusal('report_completion', report), -32006);
  }
  assert.deepEqual(await it.call('release_lease', { task_id: other, lease_token }), { released: false });
  assert.equal(
    await it.refusal('report_completion', { task_id: other, node_id: 'n1', lease_token, result: 1 }),
    -32006,
  );
  assert.equal((await it.engine.get(it.engine.parseId(id)))?.state, 'running');
  assert.deepEqual(await it.call('release_lease', { task_id: id, lease_token }), { released: true });
  assert.deepEqual(await it.call('release_lease', { task_id: id, lease_token }), { released: true }, 'a repeat');
  const record = await it.engine.get(it.engine.parseId(id));
  assert.deepEqual([record?.state, record?.tries, record?.attempt], ['ready', 0, 1], 'the try came back with it');
  assert.equal(await it.refusal('renew_lease', { lease_token }), -32006);
});

test('a repeated report gets the first answer, and one of an older attempt is refused', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  const id = await ready(it);
  const old = await it.call('acquire_lease', { node_id: 'n1', task_id: id });
  await it.call('release_lease', { task_id: id, lease_token: old.lease_token });
  const { lease_token } = await it.call('acquire_lease', { node_id: 'n1', task_id: id });
  const report = { task_id: id, node_id: 'n1', lease_token };
  const stale = { ...report, lease_token: old.lease_token, result: 'stale' };
  assert.equal(await it.refusal('report_completion', stale), -32006);
  const first = await it.call('report_completion', { ...report, result: { n: 1 } });
  assert.deepEqual(first, { task_id: id, accepted: true, status: 'completed', result: { n: 1 } });
  assert.deepEqual(await it.call('report_completion', { ...report, result: { n: 1 } }), first);
  assert.deepEqual(
    await it.call('report_completion', { ...report, result: { n: 2 } }),
    first,
    'what was said first counts',
  );
  assert.equal(await it.refusal('report_completion', { ...report, error: 'no' }), -32006);
  assert.equal(await it.refusal('report_completion', stale), -32006);
  assert.equal(await it.refusal('report_completion', { ...report, result: 1, error: 'x' }), -32602);
});

test('an error ends the task with its message; one that may be tried again goes by the policy', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  for (const error of ['plain text', { message: 'timeout', type: 'timeout' }, { message: 'validation' }]) {
    const id = await ready(it);
    const { lease_token } = await it.call('acquire_lease', { node_id: 'n1', task_id: id });
    const report = { task_id: id, node_id: 'n1', lease_token, error };
    const failed = await it.call('report_completion', report);
    const told = typeof error === 'string' ? { message: error } : error;
    assert.deepEqual([failed.status, failed.error], ['failed', told]);
    assert.deepEqual(await it.call('report_completion', report), failed);
  }
});

test('the key of the work comes with the lease, and a result of other work is refused by it', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  const [one, two] = [await ready(it), await ready(it)];
  const found = await it.call('find_executable_tasks', { node_id: 'n1' });
  const a = await it.call('acquire_lease', { node_id: 'n1', task_id: one });
  const b = await it.call('acquire_lease', { node_id: 'n1', task_id: two });
  assert.equal(found[0].idempotency_key, a.idempotency_key);
  assert.notEqual(a.idempotency_key, b.idempotency_key);
  const report = { task_id: one, node_id: 'n1', lease_token: a.lease_token, result: 1 };
  assert.equal(await it.refusal('report_completion', { ...report, idempotency_key: b.idempotency_key }), -32602);
  const done = await it.call('report_completion', { ...report, idempotency_key: a.idempotency_key });
  assert.equal(done.status, 'completed');
});

test('work that shares a key is handed out with the result that there is, and a failure is none', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  for (const id of ['a', 'b', 'c']) await it.call('tasks.create', { id, name: 'echo', idempotency_key: 'same' });
  const lease = async (id: string) => {
    await it.call('tasks.execute', { task_id: id });
    return it.call('acquire_lease', { node_id: 'n1', task_id: id });
  };
  const report = (id: string, { lease_token, idempotency_key }: Record<string, string>, outcome: object) =>
    it.call('report_completion', { task_id: id, node_id: 'n1', lease_token, idempotency_key, ...outcome });
  const a = await lease('a');
  assert.deepEqual([a.idempotency_key, a.cached], ['same', undefined]);
  await report('a', a, { error: 'no luck' });
  const b = await lease('b');
  assert.equal(b.cached, undefined, 'a failed one is not a hit');
  await report('b', b, { result: { n: 7 } });
  await report('b', b, { result: { n: 8 } });
  const c = await lease('c');
  assert.deepEqual(c.cached, { result: { n: 7 } });
  await report('c', c, c.cached);
  assert.deepEqual((await it.call('tasks.get', { id: 'c' })).result, { n: 7 });
});

test('leases that have run out are taken back when somebody asks, and their tasks are named', async (t) => {
  const it = await rpcScene(t, { leaseMs: 200 });
  await it.register();
  await it.call('tasks.create', { id: 'x', name: 'echo' });
  await it.call('tasks.execute', { task_id: 'x' });
  const { lease_token } = await it.call('acquire_lease', { node_id: 'n1', task_id: 'x' });
  // The reaper or the call may be first: the lease ends, and the call reports it only if it found it overdue.
  for (;;) {
    const { recovered, overdue } = await it.call('recover_stale_leases');
    assert.ok(recovered.every((id: string) => id === 'x') && overdue <= 1);
    if ((await it.ask('renew_lease', { lease_token })).error?.code === -32006) break;
    if (recovered.length > 0) assert.fail('it was taken back, and renewed after that');
    // A renewal keeps it: let it run out.
    const task = (await it.engine.documents.get('x')).task as number;
    const until = (await it.engine.get(task))?.leaseUntil ?? 0;
    while ((await it.engine.store.clock()).lease <= until && (await it.engine.get(task))?.state === 'running') {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  assert.equal((await it.call('acquire_lease', { node_id: 'n1', task_id: 'x' })).attempt, 2);
});

test('the detail of a task shows every attempt with the node that had it, also the one that runs', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', { id: 'build', name: 'echo', max_attempts: 3 });
  await it.call('tasks.execute', { task_id: 'build' });
  const attempts = async (): Promise<unknown> =>
    (await it.call('tasks.detail', { task_id: 'build' })).attempts.map(
      ({ attempt, node_id, outcome, error, ended_at }: Record<string, unknown>) => [
        attempt,
        node_id,
        outcome,
        (error as { message?: string } | null)?.message ?? null,
        ended_at !== null,
      ],
    );
  const nodes = [];
  for (const node_id of ['n1', 'n2']) {
    await it.call('register_node', { node_id, executor_types: ['echo'] });
    const { lease_token } = await it.call('acquire_lease', { task_id: 'build', node_id });
    nodes.push({ task_id: 'build', node_id, lease_token });
    if (node_id === 'n1') await it.call('release_lease', { task_id: 'build', lease_token });
  }
  assert.deepEqual(await attempts(), [
    [1, 'n1', 'released', null, true],
    [2, 'n2', 'running', null, false],
  ]);
  await it.call('report_completion', { ...nodes[1], error: 'it broke' });
  assert.deepEqual(await attempts(), [
    [1, 'n1', 'released', null, true],
    [2, 'n2', 'failed', 'it broke', true],
  ]);
});

/** Cases of apflow, by JSON-RPC against a node over HTTP, on both stores. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { ServeOptions } from '../../../src/app/serve.ts';
import { isTaskEvent } from '../../../src/core/task/event.ts';
import { tempFolder } from '../../../src/store/conformance/kit/temp-folder.ts';
import { run, temporaryFolder } from '../../support/leasehold.ts';
import { nodeScene, type Wire } from '../../support/node-scene.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { RpcScene, rpcScene } from '../../support/rpc-scene.ts';
import { PollingWorker } from '../../support/rpc-worker.ts';

let files = 0;
const STORES: Readonly<Record<string, () => Promise<string>>> = {
  sqlite: async () => `sqlite:${join(tempFolder('acceptance-apflow'), `${++files}.db`)}`,
  postgres: () => freshDatabase('acceptance_003'),
};

type Open = (t: TestContext, options?: Partial<ServeOptions>) => Promise<RpcScene>;

const idsOf = (tasks: readonly Wire[]): readonly string[] => tasks.map(({ id }) => id);

/** Until it is so. What is waited for is the work of others; a test that waits in vain is ended by the runner. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Writes one task down with these constraints and executes it. */
async function placed(it: RpcScene, id: string, placement_constraints?: object): Promise<void> {
  await it.call('tasks.create', { id, name: 'rest', ...(placement_constraints ? { placement_constraints } : {}) });
  await it.call('tasks.execute', { task_id: id });
}

function suite(name: string, store: () => Promise<string>): void {
  const open: Open = async (t, options = {}) => rpcScene(t, { store: await store(), ...options });

  describe(`apflow by JSON-RPC on ${name}`, () => {
    placementCases(open);
    idempotencyCases(open);
    workerCases(open);
    eventCases(open);
    treeCases(open);
    leaseCases(open, store);
  });
}

function placementCases(open: Open): void {
  test('7: placement: executors, capabilities, allowed and forbidden nodes decide who finds and gets a task', async (t) => {
    const it = await open(t);
    await it.register('n1', ['rest', 'llm'], { capabilities: { gpu: 'nvidia', spot: false } });
    await it.register('n2', ['rest'], { capabilities: { gpu: 'amd' } });
    await it.register('n3', ['rest', 'docker']);
    const all = ['n1', 'n2', 'n3'];
    for (const [id, constraints, eligible] of [
      ['none', undefined, all],
      ['executors', { requires_executors: ['llm'] }, ['n1']],
      ['executors-other-spelling', { require_executors: ['rest', 'docker'] }, ['n3']],
      ['capability', { requires_capabilities: { gpu: 'nvidia' } }, ['n1']],
      ['wrong-value', { requires_capabilities: { gpu: 'intel' } }, []],
      ['missing-key', { requires_capabilities: { tpu: 'v4' } }, []],
      ['allowed', { allowed_nodes: ['n2', 'n3'] }, ['n2', 'n3']],
      ['forbidden', { forbidden_nodes: ['n1'] }, ['n2', 'n3']],
      ['both', { allowed_nodes: ['n1', 'n2'], forbidden_nodes: ['n1'] }, ['n2']],
      ['nobody', { allowed_nodes: ['elsewhere'] }, []],
    ] as const) {
      await placed(it, id, constraints);
      for (const node of all) {
        const fits = (eligible as readonly string[]).includes(node);
        const found = idsOf(await it.call('find_executable_tasks', { node_id: node, limit: 100 }));
        assert.equal(found.includes(id), fits, `${id} is ${fits ? '' : 'not '}for ${node}`);
        if (!fits) assert.equal((await it.refusal('acquire_lease', { task_id: id, node_id: node })) < 0, true);
      }
      const [first] = eligible;
      if (first === undefined) continue;
      const { lease_token } = await it.call('acquire_lease', { task_id: id, node_id: first });
      await it.call('report_completion', { task_id: id, node_id: first, lease_token, result: null });
    }
  });

  test('7: placement: max_parallel_per_node holds under, at and over the bound, also when all ask at once', async (t) => {
    const it = await open(t);
    await it.register('n1', ['rest'], { max_parallel_tasks: 20 });
    await it.register('n2', ['rest'], { max_parallel_tasks: 20 });
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) await placed(it, id, { max_parallel_per_node: 2 });
    const answers = await Promise.all(ids.map((id) => it.ask('acquire_lease', { task_id: id, node_id: 'n1' })));
    const won = answers.filter(({ result }) => result !== undefined).map(({ result }) => result);
    assert.equal(won.length, 2, 'no more than the bound');
    assert.deepEqual(await it.call('find_executable_tasks', { node_id: 'n1' }), []);
    assert.equal((await it.call('find_executable_tasks', { node_id: 'n2' })).length, 3, 'another node has its own');
    const [{ id, lease_token }] = won;
    await it.call('report_completion', { task_id: id, node_id: 'n1', lease_token, result: 1 });
    assert.equal((await it.call('find_executable_tasks', { node_id: 'n1' })).length, 3);
  });

  test('7: the order is that of a claim: by priority, then by age, and only what is ready', async (t) => {
    const it = await open(t);
    await it.register('n1', ['rest'], { max_parallel_tasks: 20 });
    for (const [id, priority] of [
      ['low', 3],
      ['plain', 2],
      ['urgent', 0],
      ['high', 1],
      ['urgent-too', 0],
    ] as const) {
      await it.call('tasks.create', { id, name: 'rest', priority });
    }
    for (const id of ['low', 'plain', 'urgent', 'high', 'urgent-too']) await it.call('tasks.execute', { task_id: id });
    const found = await it.call('find_executable_tasks', { node_id: 'n1' });
    assert.deepEqual(idsOf(found), ['urgent', 'urgent-too', 'high', 'plain', 'low']);
    assert.deepEqual(idsOf(await it.call('find_executable_tasks', { node_id: 'n1', limit: 2 })), [
      'urgent',
      'urgent-too',
    ]);
    await it.engine.pause('tasks');
    assert.deepEqual(await it.call('find_executable_tasks', { node_id: 'n1' }), []);
    assert.equal(await it.refusal('acquire_lease', { task_id: 'urgent', node_id: 'n1' }), -32006);
  });
}

function idempotencyCases(open: Open): void {
  test('8: the key of work is stable, whatever the order of its inputs, and differs by task, input and execution', async (t) => {
    const it = await open(t);
    await it.register('n1', ['rest']);
    const keyOf = async (id: string, inputs: unknown): Promise<string> => {
      await it.call('tasks.create', { id, name: 'rest', inputs });
      await it.call('tasks.execute', { task_id: id });
      const [found] = await it.call('find_executable_tasks', { node_id: 'n1' });
      const lease = await it.call('acquire_lease', { task_id: id, node_id: 'n1' });
      assert.equal(found.idempotency_key, lease.idempotency_key);
      await it.call('report_completion', {
        task_id: id,
        node_id: 'n1',
        lease_token: lease.lease_token,
        error: 'again',
      });
      await it.call('tasks.execute', { task_id: id });
      const second = await it.call('acquire_lease', { task_id: id, node_id: 'n1' });
      assert.notEqual(second.idempotency_key, lease.idempotency_key, 'another execution is other work');
      const { lease_token, idempotency_key } = second;
      await it.call('release_lease', { task_id: id, lease_token });
      const third = await it.call('acquire_lease', { task_id: id, node_id: 'n1' });
      assert.equal(third.idempotency_key, idempotency_key, 'another attempt is the same work');
      await it.call('report_completion', { task_id: id, node_id: 'n1', lease_token: third.lease_token, result: 1 });
      return lease.idempotency_key;
    };
    const keys = [
      await keyOf('a', null),
      await keyOf('b', {}),
      await keyOf('c', { x: 1, y: { z: [1, 2] } }),
      await keyOf('d', { y: { z: [1, 2] }, x: 1 }),
    ];
    assert.equal(new Set(keys).size, keys.length, 'each task has its own');
    for (const key of keys) assert.match(key, /^[0-9a-f]{64}$/);
  });

  test('8: a failed one is not a hit, and a second result under the same key is harmless', async (t) => {
    const it = await open(t);
    const worker = new PollingWorker(it, {
      node: 'n1',
      executors: ['rest'],
      run: ({ id }) => {
        if (id === 'first') throw new Error('no');
        return { by: id };
      },
    });
    await worker.start();
    for (const id of ['first', 'second', 'third', 'fourth']) {
      await it.call('tasks.create', { id, name: 'rest', idempotency_key: 'shared' });
      await it.call('tasks.execute', { task_id: id });
      await worker.drain();
    }
    assert.deepEqual(worker.ran, ['first', 'second']);
    assert.equal(await it.status('first'), 'failed');
    for (const id of ['second', 'third', 'fourth']) {
      assert.deepEqual((await it.call('tasks.get', { id })).result, { by: 'second' });
    }
  });
}

function workerCases(open: Open): void {
  test('9: a lease that is refused, or a result that is there, calls no executor', async (t) => {
    const it = await open(t);
    const [one, two] = ['n1', 'n2'].map(
      (node) => new PollingWorker(it, { node, executors: ['rest'], run: ({ id }) => ({ by: node, id }) }),
    ) as [PollingWorker, PollingWorker];
    await Promise.all([one.start(), two.start()]);
    await it.call('tasks.create', { id: 'a', name: 'rest', idempotency_key: 'k' });
    await it.call('tasks.execute', { task_id: 'a' });
    const taken = await Promise.all([one.take('a'), two.take('a'), one.take('a'), two.take('a')]);
    assert.equal(taken.filter(Boolean).length, 1);
    await Promise.all([one.settled(), two.settled()]);
    assert.equal(one.ran.length + two.ran.length, 1, 'the executor was called once');
    await it.call('tasks.create', { id: 'b', name: 'rest', idempotency_key: 'k' });
    await it.call('tasks.execute', { task_id: 'b' });
    await two.drain();
    assert.equal(one.ran.length + two.ran.length, 1, 'the result was there');
    const [a, b] = [await it.call('tasks.get', { id: 'a' }), await it.call('tasks.get', { id: 'b' })];
    assert.deepEqual([b.status, b.result], ['completed', a.result]);
  });

  test('9: no more run at once than the node may, and a failure is stored with its error', async (t) => {
    const it = await open(t);
    const gate = Promise.withResolvers<void>();
    const worker = new PollingWorker(it, {
      node: 'n1',
      executors: ['rest'],
      maxParallel: 2,
      run: async ({ id }) => {
        await gate.promise;
        if (id === 't3') throw new Error('connection refused');
        return id;
      },
    });
    await worker.start();
    for (let n = 0; n < 5; n++) await placed(it, `t${n}`);
    await worker.poll();
    await worker.poll();
    assert.equal(worker.running.length, 2);
    assert.equal(await worker.take('t4'), false, 'its slots are full');
    gate.resolve();
    await worker.drain();
    assert.equal(worker.most, 2);
    const t3 = await it.call('tasks.get', { id: 't3' });
    assert.deepEqual([t3.status, t3.error], ['failed', 'connection refused']);
    assert.deepEqual((await it.call('tasks.count')).completed, 4);
  });

  test('9: a shutdown stops what runs, gives it back and says goodbye; another node goes on with it', async (t) => {
    const it = await open(t);
    const stopped = Promise.withResolvers<void>();
    const leaving = new PollingWorker(it, {
      node: 'n1',
      executors: ['rest'],
      run: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve();
            reject(new Error('stopped'));
          });
        }),
    });
    await leaving.start();
    await placed(it, 'a');
    assert.equal(await leaving.poll(), 1);
    await leaving.shutdown();
    await stopped.promise;
    const task = (await it.engine.documents.get('a')).task as number;
    const record = await it.engine.get(task);
    assert.deepEqual([record?.state, record?.tries], ['ready', 0], 'its try came back with it');
    assert.equal(await it.refusal('heartbeat', { node_id: 'n1' }), -32602);
    const other = new PollingWorker(it, { node: 'n2', executors: ['rest'], run: () => 'done' });
    await other.start();
    await other.drain();
    assert.equal((await it.call('tasks.get', { id: 'a' })).result, 'done');
  });

  test('9: a renewal that is refused stops the task, and its late result changes nothing', async (t) => {
    const it = await open(t, { leaseMs: 300 });
    let token = '';
    const stopped = Promise.withResolvers<void>();
    const worker = new PollingWorker(it, {
      node: 'n1',
      executors: ['rest'],
      run: (lease, signal) => {
        token = lease.lease_token;
        return new Promise((resolve) => signal.addEventListener('abort', () => (stopped.resolve(), resolve(0))));
      },
    });
    await worker.start();
    await placed(it, 'a');
    assert.equal(await worker.poll(), 1);
    // Nobody renews until the reaper has taken it back; another attempt has it then.
    const newer = await until(async () => {
      await it.call('heartbeat', { node_id: 'n1' });
      return (await it.ask('acquire_lease', { task_id: 'a', node_id: 'n1' })).result;
    });
    assert.equal(newer.attempt, 2);
    await worker.beat();
    await stopped.promise;
    const late = { task_id: 'a', node_id: 'n1', lease_token: token, result: 'late' };
    assert.equal(await it.refusal('report_completion', late), -32006);
    const done = { ...late, lease_token: newer.lease_token, result: 'right' };
    const answer = await it.ask('report_completion', done);
    // On a slow host the second lease may have run out as well: then it is refused too, and the late one stays so.
    if (answer.result !== undefined) assert.equal((await it.call('tasks.get', { id: 'a' })).result, 'right');
    assert.equal(await it.refusal('report_completion', late), -32006);
  });
}

function eventCases(open: Open): void {
  test('10: an event of a kind that there is not is refused; what happens is told in one piece with it', async (t) => {
    const it = await open(t);
    const bad = await it.node.ask('/api/v1/events?kind=task_vanished');
    assert.deepEqual([bad.status, bad.body.error.code], [400, 'INVALID_INPUT']);
    await it.register('n1', ['rest']);
    await it.call('tasks.create', [
      { id: 'r', name: 'rest' },
      { id: 'a', name: 'rest', parent_id: 'r' },
    ]);
    await it.call('tasks.execute', { task_id: 'r' });
    await it.work();
    const documents = await it.engine.documents.tree('r');
    const tasks = new Map(documents.map(({ id, task }) => [task, id]));
    // Numbers may come a moment later, where a duty gives them; the events were there with the writes.
    const told = await until(async () => {
      const { events } = await it.engine.store.eventRead({ after: 0, limit: 500 });
      const own = events.filter(isTaskEvent).filter(({ task }) => tasks.has(task));
      return own.filter(({ change }) => change === 'completed').length === 2 && own;
    });
    const story = (id: string): readonly string[] =>
      told.filter(({ task }) => tasks.get(task) === id).map(({ change, state }) => `${change} ${state}`);
    assert.deepEqual(story('a'), ['created ready', 'claimed running', 'completed completed']);
    assert.deepEqual(story('r'), ['created waiting', 'woken ready', 'claimed running', 'completed completed']);
    const seqs = told.map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
  });
}

function treeCases(open: Open): void {
  test('11: circles, references out of the tree, and removals that would break it are refused', async (t) => {
    const it = await open(t);
    const task = (id: string, parent_id?: string, ...dependencies: string[]) => ({
      id,
      name: 'rest',
      parent_id,
      dependencies,
    });
    for (const [tasks, code] of [
      [[task('r'), task('a', 'r', 'b'), task('b', 'r', 'a')], -32002],
      [[task('r'), task('a', 'r', 'b'), task('b', 'r', 'c'), task('c', 'r', 'a')], -32002],
      [[task('r'), task('a', 'r', 'a')], -32002],
      [[task('r'), task('a', 'r', 'elsewhere')], -32011],
    ] as const) {
      assert.equal(await it.refusal('tasks.create', tasks), code);
    }
    await it.call('tasks.create', [task('r'), task('a', 'r'), task('a1', 'a'), task('b', 'r', 'a1'), task('b1', 'b')]);
    assert.equal(await it.refusal('tasks.delete', { task_id: 'a' }), -32009, 'b, which stays, depends on a1');
    assert.equal(
      await it.refusal('tasks.update', { task_id: 'b', parent_id: 'a1' }),
      -32002,
      'it would wait for what waits for it',
    );
    assert.equal(await it.refusal('tasks.update', { task_id: 'a', parent_id: 'a1' }), -32010);
    assert.deepEqual((await it.call('tasks.delete', { task_id: 'b' })).deleted, ['b', 'b1']);
    assert.deepEqual((await it.call('tasks.delete', { task_id: 'a' })).deleted, ['a', 'a1']);
  });

  test('12: what failed runs again, what completed only when it depends on that; all errors end in failed with their message', async (t) => {
    const it = await open(t);
    const errors = ['validation', 'config', 'business', 'runtime', 'timeout', 'connection'];
    await it.register('n1', ['rest'], { max_parallel_tasks: 20 });
    await it.call('tasks.create', [
      { id: 'r', name: 'rest' },
      { id: 'base', name: 'rest', parent_id: 'r' },
      ...errors.map((id) => ({ id, name: 'rest', parent_id: 'r', dependencies: ['base'] })),
      { id: 'gathers', name: 'rest', parent_id: 'r', dependencies: errors.map((id) => ({ id, required: false })) },
    ]);
    await it.call('tasks.execute', { task_id: 'r' });
    await it.work(({ id }) => {
      if (errors.includes(id)) throw new Error(`a ${id} error`);
      return id;
    });
    for (const id of errors) {
      const { status, error } = await it.call('tasks.get', { id });
      assert.deepEqual([status, error], ['failed', `a ${id} error`]);
    }
    assert.equal(await it.status('gathers'), 'completed');
    const again = await it.call('tasks.execute', { task_id: 'r' });
    assert.deepEqual(idsOf(again.tasks).toSorted(), [...errors, 'gathers'].toSorted(), 'base and r are not run again');
    const order = await it.work(({ id }) => `${id} again`);
    assert.equal(order.at(-1), 'gathers');
    for (const id of errors) {
      const { status, error, result, execution } = await it.call('tasks.get', { id });
      assert.deepEqual([status, error, result, execution], ['completed', null, `${id} again`, 2]);
    }
    assert.equal((await it.call('tasks.get', { id: 'base' })).execution, 1);
  });

  test('12: a required dependency that failed leaves nothing pending for ever: those that need it are skipped, with the cause', async (t) => {
    const it = await open(t);
    await it.register('n1', ['rest']);
    await it.call('tasks.create', [
      { id: 'r', name: 'rest' },
      { id: 'a', name: 'rest', parent_id: 'r' },
      { id: 'b', name: 'rest', parent_id: 'r', dependencies: ['a'] },
      { id: 'c', name: 'rest', parent_id: 'r', dependencies: ['b'] },
    ]);
    await it.call('tasks.execute', { task_id: 'r' });
    await it.work(({ id }) => {
      if (id === 'a') throw new Error('broken');
      return id;
    });
    assert.deepEqual(await it.call('tasks.count'), {
      total: 4,
      pending: 0,
      in_progress: 0,
      completed: 1,
      failed: 3,
      cancelled: 0,
    });
    for (const id of ['b', 'c']) assert.equal((await it.call('tasks.get', { id })).cause, 'a');
    await it.call('tasks.execute', { task_id: 'r' });
    assert.deepEqual(await it.work(), ['a', 'b', 'c'], 'all three run at the next execution');
  });

  test('13: of many who execute one tree at once one does, others are for other trees, and it can be executed again after', async (t) => {
    const it = await open(t);
    await it.register('n1', ['rest'], { max_parallel_tasks: 50 });
    const trees = ['x', 'y', 'z'];
    for (const root of trees) {
      await it.call('tasks.create', [
        { id: root, name: 'rest' },
        { id: `${root}-child`, name: 'rest', parent_id: root },
      ]);
    }
    const race = async (): Promise<readonly number[]> => {
      const answers = await Promise.all(
        trees.flatMap((root) => [...Array(6)].map(() => it.ask('tasks.execute', { task_id: root }))),
      );
      return answers.map(({ error }) => error?.code ?? 0);
    };
    const first = await race();
    for (const [i] of trees.entries()) {
      const own = first.slice(i * 6, (i + 1) * 6);
      assert.equal(own.filter((code) => code === 0).length, 1, String(own));
      assert.ok(
        own.every((code) => code === 0 || code === -32008),
        String(own),
      );
    }
    await it.work(({ id }) => {
      if (id.endsWith('-child')) throw new Error('once more');
      return id;
    });
    const second = await race();
    assert.equal(second.filter((code) => code === 0).length, 3, String(second));
    await it.work();
    for (const root of trees) {
      const tree = await it.call('tasks.tree', { task_id: root });
      assert.deepEqual([tree.execution, tree.children[0].execution], [1, 2], 'each execution started once');
    }
  });
}

function leaseCases(open: Open, store: () => Promise<string>): void {
  test('a renewal is refused after the reap, and not after the expiry', async (t) => {
    const url = await store();
    const it = new RpcScene(await nodeScene(t, { store: url, duties: false, leaseMs: 50 }));
    await it.register('n1', ['rest']);
    await placed(it, 'a');
    const { lease_token } = await it.call('acquire_lease', { task_id: 'a', node_id: 'n1' });
    const task = (await it.engine.documents.get('a')).task as number;
    const expired = (): Promise<true> =>
      until(async () => {
        const [record, clock] = [await it.engine.get(task), await it.engine.store.clock()];
        return (record?.leaseUntil ?? 0) < clock.lease && (true as const);
      });
    await expired();
    assert.equal((await it.call('renew_lease', { lease_token })).renewed, true, 'nobody has taken it back');
    await expired();
    assert.deepEqual(await it.call('recover_stale_leases'), { recovered: [], overdue: 1 }, 'nobody is the reaper');
    await open(t, { store: url, leaseMs: 50 });
    await until(async () => (await it.engine.get(task))?.state !== 'running');
    assert.equal(await it.refusal('renew_lease', { lease_token }), -32006);
    const late = { task_id: 'a', node_id: 'n1', lease_token, result: 'late' };
    assert.equal(await it.refusal('report_completion', late), -32006);
    assert.deepEqual(await it.call('release_lease', { task_id: 'a', lease_token }), { released: false });
  });
}

for (const [name, store] of Object.entries(STORES)) suite(name, store);

for (const [name, store] of Object.entries(STORES)) {
  test(`a node as its own process runs a tree by its built-in worker, on ${name}`, async (t) => {
    const cwd = temporaryFolder(t);
    const node = run(t, ['up', '--port', '0'], { cwd, env: { LEASEHOLD_STORE: await store() } });
    const address = await node.address();
    const token = readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim();
    const call = async (method: string, params: object): Promise<Wire> => {
      const response = await fetch(`${address}/tasks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      const { result, error } = (await response.json()) as Wire;
      assert.equal(error, undefined, JSON.stringify(error));
      return result;
    };
    await until(async () => (await call('system.executors', {})).executors.some(({ id }: Wire) => id === 'echo'));
    await call('tasks.create', {
      tasks: [
        { id: 'report', name: 'report', schemas: { method: 'aggregate' }, dependencies: ['fetch', 'count'] },
        { id: 'fetch', name: 'echo', parent_id: 'report', inputs: { text: 'hello' } },
        { id: 'count', name: 'echo', parent_id: 'report', dependencies: ['fetch'], params: { of: 'words' } },
      ],
    });
    await call('tasks.execute', { task_id: 'report' });
    const tree = await until(async () => {
      const now = await call('tasks.tree', { task_id: 'report' });
      assert.notEqual(now.status, 'failed', JSON.stringify(now));
      return now.status === 'completed' && now;
    });
    const fetched = { text: 'hello' };
    const counted = { of: 'words', fetch: fetched };
    assert.deepEqual(
      tree.children.map(({ result }: Wire) => result),
      [fetched, counted],
    );
    assert.deepEqual(tree.result, { results: { fetch: fetched, count: counted }, result_count: 2 });
    node.child.kill('SIGINT');
    assert.equal((await node.ended).code, 0, node.stderr);
  });
}

/**
 * The secret of a worker in the hands of an attacker. With it alone nobody's task but the worker's own is read, changed, started or stopped:
 * whatever the attacker tries, everything else is afterwards as it was before.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ROUTES, type RouteName } from '../../src/protocol/routes.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { proofOf, RawWorker } from '../support/raw-worker.ts';
import { comeIn, STORES, target } from './scene.ts';

const SALARY = 4711;

/** What others have at the node. */
interface Victims {
  /** Runs on the worker of its owner. */
  readonly running: Task;
  /** Waits for a signal, and for a decision. */
  readonly waiting: Task;
  readonly asking: Task;
  readonly ready: Task;
  readonly ended: Task;
}

interface Task {
  readonly task: number;
  readonly id: string;
}

async function victims({ engine }: NodeScene, owner: RawWorker): Promise<Victims> {
  const push = (queue: string): Promise<Task> =>
    engine.push({ queue, handler: 'pay', input: { salary: SALARY }, unique: `key of ${queue}`, op: `op of ${queue}` });
  const hold = async (queue: string): Promise<[Task, ReturnType<typeof proofOf>]> => {
    const task = await push(queue);
    return [task, proofOf(await owner.claimOne())];
  };
  const turn = (lease: object, then: object): Promise<unknown> => owner.told('task_turn', { lease, entries: [], then });
  const [ended, last] = await hold('ended');
  await owner.told('task_complete', { lease: last, result: `{"salary":${SALARY}}` });
  const [waiting, first] = await hold('waiting');
  await turn(first, { go: 'park', key: 'w', channel: 'pay:go' });
  const [asking, second] = await hold('asking');
  await turn(second, { go: 'park', key: 'ok', form: '{"title":"Pay?"}' });
  const [running] = await hold('running');
  return { running, waiting, asking, ended, ready: await push('private') };
}

/** Everything of the victims that anybody could change. */
async function snapshot(node: NodeScene, owned: Victims): Promise<string> {
  const { engine } = node;
  const tasks = Object.values(owned) as Task[];
  const records = await Promise.all(tasks.map(({ task }) => engine.get(task)));
  const waits = await Promise.all(tasks.map(({ task }) => engine.waits.of(task)));
  const journals = await Promise.all(tasks.map(({ task }) => engine.journal(task)));
  const logs = await Promise.all(tasks.map(({ task }) => engine.logs.read(task)));
  const limits = await engine.limits.list();
  const queues = (await engine.queues()).filter(({ name }) => name !== 'work');
  const known = (await engine.store.workerSettings()).filter(({ name }) => name !== 'gpu-1');
  return JSON.stringify({ records, waits, journals, logs, limits, queues, known });
}

async function enrol(node: NodeScene, body: object): Promise<string> {
  return (await node.call('createWorker', '/api/v1/workers', { body })).secret;
}

/** The attacker counts what it was refused. */
class Attacker {
  tried = 0;
  readonly #heard: string[] = [];

  refused(what: string, code: string | undefined, codes: readonly string[]): void {
    this.tried++;
    assert.ok(code !== undefined && codes.includes(code), `${what}: ${String(code)}`);
  }

  hear(text: string): void {
    this.#heard.push(text);
  }

  get learned(): string {
    return this.#heard.join('\n');
  }
}

/** Every route that a worker has no business with. */
async function tryRoutes(
  attacker: Attacker,
  node: NodeScene,
  secret: string,
  { running, asking }: Victims,
): Promise<void> {
  const bodies: Partial<Record<RouteName, unknown>> = {
    pushTasks: { queue: 'work', handler: 'shell', input: { command: 'id' } },
    sendSignal: { channel: 'pay:go' },
    decideApproval: { action: 'approve' },
  };
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, (typeof ROUTES)[RouteName]][]) {
    if (route.access === 'open' || route.access === 'any' || route.access === 'worker' || 'methods' in route) continue;
    const path = route.path
      .replace('{id}', name === 'decideApproval' ? asking.id : running.id)
      .replace(/\{\w+\}/g, 'private');
    const body = route.method === 'GET' ? undefined : (bodies[name] ?? {});
    const answer = await node.ask(path, {
      method: route.method,
      token: secret,
      ...(body === undefined ? {} : { body }),
    });
    attacker.hear(JSON.stringify(answer.body));
    attacker.refused(name, answer.body?.error?.code, ['FORBIDDEN']);
  }
}

/** Registrations beyond what the name was given, over each link. */
async function tryRegistrations(attacker: Attacker, node: NodeScene, secret: string): Promise<void> {
  const wishes = [
    { handlers: ['pay'] },
    { queues: ['private'] },
    { queues: ['work', 'private'] },
    { tags: ['gpu'] },
    { slots: 5 },
    { slots: 10_000 },
    { priority: 1 },
    { name: 'owner' },
  ];
  for (const wish of wishes) {
    const hello = { name: 'gpu-1', secret, handlers: ['echo'], slots: 1, ...wish };
    const raw = await RawWorker.dial(node.service.address);
    const said = await raw.greet(hello);
    attacker.refused(`connect ${JSON.stringify(wish)}`, said.error?.code, ['FORBIDDEN']);
    await raw.closed;
    const { secret: _, ...join } = { incarnation: 'evil', tags: [], ...hello };
    const joined = await node.ask('/workers/join', { token: secret, body: join });
    attacker.refused(`join ${JSON.stringify(wish)}`, joined.body.error?.code, ['FORBIDDEN']);
  }
}

/** Everything that a turn can do to others. */
async function tryTurns(attacker: Attacker, worker: RawWorker, lease: object, owned: Victims): Promise<void> {
  const on = { go: 'on' };
  const { running, waiting, ended, asking } = owned;
  const child = (wish: object): object[] => [
    { key: 'c', kind: 'child', child: { queue: 'work', handler: 'echo', ...wish } },
  ];
  const turns: readonly (readonly [string, object])[] = [
    ...['shell', 'js', 'http', 'pay', 'other'].map(
      (handler) => [`spawn ${handler}`, { entries: child({ handler }), then: on }] as const,
    ),
    ...['private', 'running', 'nowhere'].map(
      (queue) => [`spawn into ${queue}`, { entries: child({ queue }), then: on }] as const,
    ),
    ['spawn for a worker', { entries: child({ placement: { only: ['owner'] } }), then: on }],
    ['spawn for a tag', { entries: child({ placement: { requires: ['gpu'] } }), then: on }],
    ['spawn for a credential', { entries: child({ placement: { credentials: ['bank'] } }), then: on }],
    ['spawn with a limit', { entries: child({ limits: ['bank'] }), then: on }],
    ['spawn with a result', { entries: child({ reuse: { key: 'k' } }), then: on }],
    ['spawn with a result of the same input', { entries: child({ reuse: true }), then: on }],
    ['wait for the channel', { entries: [], then: { go: 'park', key: 'w', channel: 'pay:go' } }],
    ...['pay:go', 'pay', waiting.id, `approval:${asking.task}:ok`, 'leasehold:x'].map(
      (channel) =>
        [`signal ${channel}`, { entries: [{ key: 's', kind: 'signal', channel, body: '1' }], then: on }] as const,
    ),
    ['wait on the approval', { entries: [], then: { go: 'park', key: 'w', channel: `approval:${asking.task}:ok` } }],
    ...[running.task, running.id, ended.task, ended.id].flatMap(
      (ref) =>
        [
          [`wait for ${ref}`, { entries: [], then: { go: 'park', key: 'w', children: [ref] } }],
          [`depend on ${ref}`, { entries: [{ ...child({})[0], after: [{ on: ref }] }], then: on }],
        ] as const,
    ),
  ];
  for (const [what, turn] of turns) {
    const error = await worker.denied('task_turn', { lease, ...turn });
    attacker.hear(JSON.stringify(error));
    attacker.refused(what, error.code, ['FORBIDDEN', 'NOT_FOUND', 'INVALID_INPUT']);
  }
  for (const ref of [running.task, running.id, ended.task, ended.id]) {
    const [result] = await worker.told('results', { lease, tasks: [ref] });
    attacker.hear(JSON.stringify(result));
    attacker.refused(`read ${ref}`, result.state, ['gone']);
  }
}

/** Leases of others, by guesses. */
async function tryLeases(
  attacker: Attacker,
  worker: RawWorker,
  own: { readonly token: string },
  { running }: Victims,
): Promise<void> {
  const { task } = running;
  for (const attempt of [1, 2]) {
    const lease = { ...own, task, attempt };
    for (const [type, fields] of [
      ['task_complete', { result: '1' }],
      ['task_failed', { error: '1', giveUp: true }],
      ['task_release', {}],
      ['task_cancelled', {}],
      ['journal', {}],
      ['dependencies', {}],
      ['waited', {}],
      ['task_progress', { logs: [{ seq: 1, at: 0, stream: 'log', text: 'mine' }] }],
      ['task_turn', { entries: [], then: { go: 'complete' } }],
    ] as const) {
      const error = await worker.denied(type, { lease, ...fields });
      attacker.refused(`${type} of another`, error.code, ['LEASE_LOST']);
    }
    attacker.refused('renew of another', (await worker.told('lease_renew', { leases: [lease] }))[0], ['lost']);
  }
}

/** The doors of other programs. */
async function tryFaces(
  attacker: Attacker,
  node: NodeScene,
  secret: string,
  { running, ready }: Victims,
): Promise<void> {
  const rpc = async (method: string, params: object): Promise<{ readonly error?: { readonly code: unknown } }> => {
    const { body } = await node.ask('/rpc', { token: secret, body: { jsonrpc: '2.0', id: 7, method, params } });
    attacker.hear(JSON.stringify(body));
    return body;
  };
  const calls: readonly (readonly [string, object])[] = [
    ['register_node', { node_id: 'owner', executor_types: ['pay'] }],
    ['register_node', { node_id: 'gpu-1', executor_types: ['pay'] }],
    ['register_node', { node_id: 'gpu-1', executor_types: ['echo'], capabilities: ['gpu'] }],
    ['acquire_lease', { node_id: 'gpu-1', task_id: ready.id }],
    ['acquire_lease', { node_id: 'owner', task_id: ready.id }],
    ['tasks.get', { task_id: running.id }],
    ['tasks.list', {}],
    ['tasks.cancel', { task_ids: [running.id] }],
    ['tasks.delete', { task_id: ready.id }],
    ['recover_stale_leases', {}],
  ];
  for (const [method, params] of calls) {
    const { error } = await rpc(method, params);
    attacker.refused(method, typeof error?.code, ['number']);
  }
  for (const path of ['/a2a', '/mcp']) {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_tasks', arguments: {} } };
    const answer = await node.ask(path, { token: secret, body });
    attacker.hear(JSON.stringify(answer.body));
    attacker.refused(path, String(answer.status >= 400 || answer.body?.error !== undefined), ['true']);
  }
}

for (const [store, place] of Object.entries(STORES)) {
  test(`${store}: the secret of a worker is worth the tasks of that worker, and nothing else`, async (t: TestContext) => {
    const { node } = await target(t, { store: await place() });
    await node.call('createLimit', '/api/v1/limits', { body: { name: 'bank', concurrent: 1 } });
    const ownerSecret = await enrol(node, { name: 'owner', handlers: ['pay'], tags: ['gpu'] });
    const owner = await comeIn(node, { name: 'owner', secret: ownerSecret, handlers: ['pay'] });
    const owned = await victims(node, owner);
    const secret = await enrol(node, { name: 'gpu-1', handlers: ['echo'], queues: ['work'], slots: 4 });
    const before = await snapshot(node, owned);
    const attacker = new Attacker();

    await tryRoutes(attacker, node, secret, owned);
    await tryRegistrations(attacker, node, secret);

    // What it offers beyond that is left out.
    const worker = await comeIn(node, { name: 'gpu-1', secret, slots: 4, handlers: ['echo', 'pay'] });
    const own = await node.engine.push({ queue: 'work', handler: 'echo', input: 1 });
    const lease = proofOf(await worker.claimOne());
    assert.equal(lease.task, own.task, 'what it may run it gets, and nothing else');
    assert.deepEqual(await worker.claim(10), []);
    await tryTurns(attacker, worker, lease, owned);
    await tryLeases(attacker, worker, lease, owned);
    await tryFaces(attacker, node, secret, owned);

    // A unique key that it takes in advance is not that of anybody else.
    const entries = [
      { key: 'c', kind: 'child', child: { queue: 'work', handler: 'echo', input: '7', unique: 'of the operator' } },
    ];
    await worker.told('task_turn', { lease, entries, then: { go: 'on' } });
    const pushed = await node.engine.push({ queue: 'work', handler: 'echo', input: 7, unique: 'of the operator' });
    assert.equal(pushed.fresh, true);
    // Its own it may finish.
    await worker.told('task_complete', { lease, result: '"done"' });
    assert.equal((await node.engine.get(own.task))?.state, 'completed');

    assert.equal(await snapshot(node, owned), before, 'nothing of anybody else has changed');
    assert.doesNotMatch(attacker.learned, new RegExp(String(SALARY)));
    assert.ok(attacker.tried >= 100, `${attacker.tried} tries`);
    t.diagnostic(`${attacker.tried} tries with the secret of a worker, all refused`);
  });
}

for (const [store, place] of Object.entries(STORES)) {
  test(`${store}: what was given to a name bounds what its node finds and how early it gets work, also once it is taken away`, async (t) => {
    const { node } = await target(t, { store: await place() });
    const secret = await enrol(node, { name: 'n', handlers: ['echo'], queues: ['work'] });
    await node.engine.push({ queue: 'private', handler: 'echo', input: { salary: SALARY } });
    await node.engine.push({ queue: 'work', handler: 'echo' });
    const rpc = async (method: string, params: object): Promise<readonly { readonly queue: string }[]> =>
      (await node.ask('/rpc', { token: secret, body: { jsonrpc: '2.0', id: 1, method, params } })).body.result;
    await rpc('register_node', { node_id: 'n', executor_types: ['echo'] });
    const found = await rpc('find_executable_tasks', { node_id: 'n' });
    assert.deepEqual(
      found.map(({ queue }) => queue),
      ['work'],
    );
    await node.engine.workers.set({ name: 'n', grant: { handlers: ['other'] } });
    assert.deepEqual(await rpc('find_executable_tasks', { node_id: 'n' }), []);

    // A priority of its own does not wait behind the one that was given.
    const other = await enrol(node, { name: 'p' });
    await node.engine.workers.set({ name: 'p', priority: 1 });
    const worker = await RawWorker.dial(node.service.address);
    await worker.enter({ name: 'p', secret: other, priority: 1000 });
    const priority = async (): Promise<number | undefined> =>
      (await node.engine.workers.list()).find(({ name }) => name === 'p')?.priority;
    assert.equal(await priority(), 1);
    await node.engine.workers.set({ name: 'p', priority: null });
    assert.equal(await priority(), 0);
  });
}

test('a session over HTTP is worth its own secret: neither that of another worker nor a removed one carries it on', async (t) => {
  const { node } = await target(t);
  const secrets = { a: await enrol(node, { name: 'a' }), b: await enrol(node, { name: 'b' }) };
  const join = async (name: 'a' | 'b'): Promise<{ readonly worker: string; readonly session: string }> =>
    node.call('joinWorker', '/workers/join', {
      token: secrets[name],
      body: { name, incarnation: `start of ${name}`, slots: 1, tags: [], handlers: ['echo'] },
    });
  const { worker, session } = await join('a');
  await join('b');
  await node.engine.push({ queue: 'q', handler: 'echo' });
  const take = async (token: string | null): Promise<number> => {
    const body = { n: 1, max: 1, waitMs: 0, holding: [] };
    return (await node.ask(`/workers/${worker}/tasks`, { token, body, headers: { 'x-session-token': session } }))
      .status;
  };
  assert.equal(await take(secrets.b), 403);
  assert.equal(await take(node.admin), 403);
  await node.call('removeWorker', '/api/v1/workers/a', { method: 'DELETE' });
  while ((await take(null)) !== 401) await new Promise((resolve) => void setTimeout(resolve, 20));
  assert.equal(await take(secrets.a), 401);
  assert.equal(await take(secrets.b), 401);
});

test('one name has one connection, whichever links they come by', async (t) => {
  const { node } = await target(t);
  const secret = await enrol(node, { name: 'a' });
  const first = await comeIn(node, { name: 'a', secret, incarnation: 'first' });
  const hello = { incarnation: 'second', slots: 1, tags: [], handlers: ['echo'], name: 'a' };
  const codes = async (): Promise<readonly string[]> => {
    const raw = await RawWorker.dial(node.service.address);
    const socket = (await raw.greet({ name: 'a', secret, incarnation: 'second' })).error?.code;
    await raw.hangUp();
    const joined = await node.ask('/workers/join', { token: secret, body: hello });
    const steps = await node.ask('/workers/register', {
      token: secret,
      body: { hostname: 'h', capabilities: ['echo'] },
    });
    const params = { node_id: 'a', executor_types: ['echo'] };
    const rpc = await node.ask('/rpc', {
      token: secret,
      body: { jsonrpc: '2.0', id: 1, method: 'register_node', params },
    });
    return [
      socket,
      joined.body.error?.code,
      steps.body.error?.code,
      rpc.body.error?.data?.code ?? rpc.body.error?.message,
    ];
  };
  const seen = await codes();
  assert.deepEqual(seen.slice(0, 3), ['CONFLICT', 'CONFLICT', 'CONFLICT']);
  assert.match(String(seen[3]), /CONFLICT|connected already/);
  // The same start may come again, over another link.
  assert.equal(
    (await node.ask('/workers/join', { token: secret, body: { ...hello, incarnation: 'first' } })).status,
    200,
  );
  await first.closed;
});

for (const [store, place] of Object.entries(STORES)) {
  test(`${store}: one name has one connection, whichever nodes of a cluster it comes to`, async (t) => {
    const at = await place();
    const [one, other] = [(await target(t, { store: at })).node, (await target(t, { store: at })).node];
    const secret = await enrol(one, { name: 'a' });
    const hello = { slots: 1, tags: [], handlers: ['echo'], name: 'a' };
    const params = { node_id: 'a', executor_types: ['echo'] };
    const first = await comeIn(one, { name: 'a', secret, incarnation: 'first' });
    const elsewhere = async (): Promise<readonly unknown[]> => {
      const raw = await RawWorker.dial(other.service.address);
      const socket = (await raw.greet({ name: 'a', secret, incarnation: 'second' })).error?.code;
      await raw.hangUp();
      const ask = async (path: string, body: object): Promise<string | undefined> =>
        (await other.ask(path, { token: secret, body })).body.error?.code;
      const rpc = await ask('/rpc', { jsonrpc: '2.0', id: 1, method: 'register_node', params });
      return [
        socket,
        await ask('/workers/join', { ...hello, incarnation: 'second' }),
        await ask('/workers/register', { hostname: 'h', capabilities: ['echo'] }),
        typeof rpc,
      ];
    };
    assert.deepEqual(await elsewhere(), ['CONFLICT', 'CONFLICT', 'CONFLICT', 'number']);
    assert.equal((await one.engine.workers.list()).length, 1, 'who was refused has left nothing');

    // The same start may move, and its own half-open connection ends.
    const moved = await comeIn(other, { name: 'a', secret, incarnation: 'first' });
    await first.closed;
    await one.engine.push({ queue: 'q', handler: 'echo' });
    assert.equal((await moved.claim()).length, 1);
    // A process that was killed has hung up. Its next start comes in, at any node.
    await moved.hangUp();
    const next = await comeIn(one, { name: 'a', secret, incarnation: 'third' });
    assert.deepEqual((await elsewhere())[0], 'CONFLICT');
    await next.hangUp();
  });
}

test('a worker whose name another one has taken over at another node is ended there within a second', async (t) => {
  const at = await STORES.sqlite();
  const [one, other] = [(await target(t, { store: at })).node, (await target(t, { store: at })).node];
  const secret = await enrol(one, { name: 'a' });
  const hello = { slots: 1, tags: [], handlers: ['echo'], name: 'a' };
  const { worker, session } = await one.call('joinWorker', '/workers/join', {
    token: secret,
    body: { ...hello, incarnation: 'first' },
  });
  const take = async (node: NodeScene): Promise<number> => {
    const body = { n: 1, max: 1, waitMs: 0, holding: [] };
    const headers = { 'x-session-token': session };
    return (await node.ask(`/workers/${worker}/tasks`, { token: secret, body, headers })).status;
  };
  assert.equal(await take(one), 204);
  // The store has not heard of it for long: it counts as gone, though its node has it still.
  const { worker: row } = (await one.engine.workers.list())[0] as { worker: number };
  await one.engine.workers.beat({ worker: row, state: 'offline' });
  const second = await comeIn(other, { name: 'a', secret, incarnation: 'second' });
  while ((await take(one)) !== 409) await new Promise((resolve) => void setTimeout(resolve, 20));
  assert.equal(await take(other), 409);
  assert.deepEqual(await second.claim(), []);
});

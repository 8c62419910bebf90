/**
 * The secret of a worker in the hands of an attacker. With it alone nobody's task but the worker's own is read, changed, started or stopped:
 * whatever the attacker tries, everything else is afterwards as it was before.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PlainAgent } from '../support/dazflow-agent.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { proofOf, RawWorker } from '../support/raw-worker.ts';
import { RawHttpWorker } from './raw-http-worker.ts';
import { comeIn, STORES, target } from './scene.ts';
import {
  Attacker,
  type Lease,
  type Task,
  tryDazflow,
  tryLeases,
  tryLoopd,
  tryParents,
  tryRegistrations,
  tryRoutes,
  tryRpc,
  tryTurns,
  type Victims,
} from './stolen-secret-tries.ts';

const SALARY = 4711;

async function victims({ engine }: NodeScene, owner: RawWorker): Promise<Victims> {
  const push = (queue: string, more: object = {}): Promise<Task> =>
    engine.push({
      queue,
      handler: 'pay',
      input: { salary: SALARY },
      unique: `key of ${queue}`,
      op: `op of ${queue}`,
      ...more,
    });
  const hold = async (queue: string): Promise<[Task, Lease]> => {
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
  const ready = await push('private', { limits: [{ name: 'bank', key: 'owner' }] });
  return { running, waiting, asking, ended, ready };
}

/** Everything of the victims that anybody could change. */
async function snapshot(node: NodeScene, owned: Victims): Promise<string> {
  const { engine } = node;
  const tasks = Object.values(owned) as Task[];
  const records = await Promise.all(tasks.map(({ task }) => engine.get(task)));
  const waits = await Promise.all(tasks.map(({ task }) => engine.waits.of(task)));
  const journals = await Promise.all(tasks.map(({ task }) => engine.journal(task)));
  const logs = await Promise.all(tasks.map(({ task }) => engine.logs.read(task)));
  const limits = (await engine.limits.list()).map(({ name, limit, changedBy }) => ({ name, limit, changedBy }));
  const counters = (await engine.limits.use('bank')).filter(({ key }) => key === 'owner');
  const queues = (await engine.queues()).filter(({ name }) => name !== 'work');
  const known = (await engine.store.workerSettings()).filter(({ name }) => name !== 'gpu-1');
  return JSON.stringify({ records, waits, journals, logs, limits, counters, queues, known });
}

async function enrol(node: NodeScene, body: object): Promise<string> {
  return (await node.call('createWorker', '/api/v1/workers', { body })).secret;
}

/** A lease of its own, of a run that takes from the limit of its victims, under another key. */
async function pushOwn({ engine }: NodeScene): Promise<Task> {
  return engine.push({ queue: 'work', handler: 'echo', input: 1, limits: [{ name: 'bank', key: 'work' }] });
}

/** Over the WebSocket. What it offers beyond its grant is left out. */
async function overWebSocket(attacker: Attacker, handlers: readonly string[]): Promise<void> {
  const { node, name, secret, owned } = attacker;
  const worker = await comeIn(node, { name, secret, slots: 4, handlers });
  const own = await pushOwn(node);
  const lease = proofOf(await worker.claimOne());
  assert.equal(lease.task, own.task, 'what it may run it gets, and nothing else');
  assert.deepEqual(await worker.claim(10), []);
  await tryTurns(attacker, worker, lease);
  await tryLeases(attacker, worker, lease);
  await tryParents(attacker, worker, lease, async () => proofOf(await worker.claimOne()));
  if (handlers.includes('pay:go')) await tryMadeUpHandlers(attacker, worker, lease);
  // A unique key that it takes in advance is not that of anybody else.
  const entries = [
    { key: 'c', kind: 'child', child: { queue: 'work', handler: 'echo', input: '7', unique: 'of the operator' } },
  ];
  await worker.told('task_turn', { lease, entries, then: { go: 'on' } });
  const pushed = await node.engine.push({ queue: 'work', handler: 'echo', input: 7, unique: 'of the operator' });
  assert.equal(pushed.fresh, true);
  for (const one of await worker.claim(10)) await worker.told('task_complete', { lease: proofOf(one) });
  // Its own it may finish.
  await worker.told('task_complete', { lease, result: '"done"' });
  assert.equal((await node.engine.get(own.task))?.state, 'completed');
  assert.equal((await node.engine.get(owned.waiting.task))?.state, 'waiting');
  await worker.hangUp();
}

/** A name without a grant offers handlers of any name. Their names open it no channel. */
async function tryMadeUpHandlers(attacker: Attacker, worker: RawWorker, lease: Lease): Promise<void> {
  const channels = ['pay:go', attacker.owned.waiting.id];
  const entries = channels.map((handler) => ({ key: handler, kind: 'child', child: { queue: 'work', handler } }));
  await worker.told('task_turn', { lease, entries, then: { go: 'on' } });
  const made = await worker.claim(2);
  assert.equal(made.length, 2);
  for (const one of made) {
    const own = proofOf(one);
    for (const channel of channels) {
      const signals = [{ key: 's', kind: 'signal', channel, body: '1' }];
      const error = await worker.denied('task_turn', { lease: own, entries: signals, then: { go: 'on' } });
      attacker.refused(`signal ${channel} by a handler of that name`, error.code, ['FORBIDDEN']);
    }
    await worker.told('task_complete', { lease: own });
  }
}

async function overHttp(attacker: Attacker): Promise<void> {
  const { node, name, secret } = attacker;
  const worker = await RawHttpWorker.join(node, { name, secret, slots: 4, handlers: ['echo'] });
  const own = await pushOwn(node);
  const [granted] = await worker.claim(10);
  const lease = proofOf(granted);
  assert.equal(lease.task, own.task);
  await tryTurns(attacker, worker, lease);
  await tryLeases(attacker, worker, lease);
  await tryParents(attacker, worker, lease, async () => proofOf((await worker.claim(10, [lease]))[0]));
  await worker.told('task_complete', { lease });
  await worker.hangUp();
}

const NAMES: Readonly<
  Record<string, { handlers?: readonly string[] | null; queues?: readonly string[]; slots?: number }>
> = {
  'with a grant': { handlers: ['echo'], queues: ['work'], slots: 4 },
  // What it offered when it first joined was granted then.
  'that has joined before': {},
  // It gets the tasks of every handler that it offers, because an operator has said so. It never offers to run those of others here.
  'that may run any handler': { handlers: null },
};

/** The honest worker, before its secret was stolen. */
async function joinOnce(node: NodeScene, secret: string): Promise<void> {
  const honest = await comeIn(node, { name: 'gpu-1', secret, handlers: ['echo'] });
  await honest.hangUp();
}

for (const [store, place] of Object.entries(STORES)) {
  for (const [what, grant] of Object.entries(NAMES)) {
    test(`${store}: the secret of a worker ${what} is worth the tasks of that worker, and nothing else`, async (t: TestContext) => {
      // No lease of a victim runs out meanwhile.
      const { node } = await target(t, { store: await place(), leaseMs: '10m' });
      await node.call('createLimit', '/api/v1/limits', {
        body: { name: 'bank', perKey: 1, strategy: 'cancel_oldest' },
      });
      const ownerSecret = await enrol(node, { name: 'owner', handlers: ['pay'], tags: ['gpu'] });
      const owner = await comeIn(node, { name: 'owner', secret: ownerSecret, handlers: ['pay'] });
      const owned = await victims(node, owner);
      const isGranted = grant.handlers !== null;
      // Of its handler, and in a queue that was not granted to it.
      if ('queues' in grant) await node.engine.push({ queue: 'hidden', handler: 'echo', input: { salary: SALARY } });
      const secret = await enrol(node, { name: 'gpu-1', ...grant });
      if (!('handlers' in grant)) await joinOnce(node, secret);
      const before = await snapshot(node, owned);
      const attacker = new Attacker(node, 'gpu-1', secret, owned);

      await tryRoutes(attacker);
      const bounds = (['handlers', 'queues', 'slots'] as const).filter((bound) => grant[bound] !== undefined);
      await tryRegistrations(attacker, isGranted ? [...new Set([...bounds, 'handlers' as const])] : []);
      await overWebSocket(attacker, isGranted ? ['echo', 'pay'] : ['echo', 'pay:go', owned.waiting.id]);
      await overHttp(attacker);
      await tryLoopd(attacker);
      await tryRpc(attacker, isGranted);
      assert.equal(await snapshot(node, owned), before, 'nothing of anybody else has changed');
      assert.doesNotMatch(attacker.learned, new RegExp(String(SALARY)));
      assert.ok(attacker.tried >= 500, `${attacker.tried} tries`);
      t.diagnostic(`${attacker.tried} tries with the secret of a worker, all refused`);
    });
  }

  test(`${store}: a dazflow agent is offered nothing until somebody has said what its name may run, and then nothing else`, async (t: TestContext) => {
    const { node } = await target(t, { store: await place() });
    await node.engine.push({ queue: 'work', handler: 'pay', input: { salary: SALARY } });
    const secret = await enrol(node, { name: 'gpu-1' });
    const first = await PlainAgent.dial(node.service.address);
    first.say({ type: 'connect', version: '1.0.0', credentials: [], name: 'gpu-1', secret });
    assert.match((await first.hear('connect_rejected')).reason, /nobody has said which handlers gpu-1 may run/);
    await joinOnce(node, secret);
    const own = await node.engine.push({ queue: 'work', handler: 'echo', input: 1 });
    const agent = await PlainAgent.enter(node.service.address, { name: 'gpu-1', secret });
    const offer = await agent.hear('task_available');
    assert.equal('task' in offer && offer.task.id, own.id);
    assert.doesNotMatch(JSON.stringify(agent.told), new RegExp(String(SALARY)));
  });

  test(`${store}: a dazflow agent with a grant speaks for no task of others`, async (t: TestContext) => {
    const { node } = await target(t, { store: await place(), leaseMs: '10m' });
    await node.call('createLimit', '/api/v1/limits', { body: { name: 'bank', perKey: 1 } });
    const ownerSecret = await enrol(node, { name: 'owner', handlers: ['pay'] });
    const owned = await victims(node, await comeIn(node, { name: 'owner', secret: ownerSecret, handlers: ['pay'] }));
    const secret = await enrol(node, { name: 'gpu-1', handlers: ['echo'], queues: ['work'] });
    const before = await snapshot(node, owned);
    const attacker = new Attacker(node, 'gpu-1', secret, owned);
    await tryDazflow(attacker);
    assert.equal(await snapshot(node, owned), before);
    assert.doesNotMatch(attacker.learned, new RegExp(String(SALARY)));
    t.diagnostic(`${attacker.tried} tries of an agent, all refused`);
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

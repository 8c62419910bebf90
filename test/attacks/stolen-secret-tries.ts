/** What somebody tries who has the secret of a worker, door by door. Each try is refused, and counted. */
import assert from 'node:assert/strict';
import { ROUTES, type RouteName } from '../../src/protocol/routes.ts';
import { METHODS } from '../../src/protocol/rpc/methods.ts';
import { PlainAgent } from '../support/dazflow-agent.ts';
import type { NodeScene, Wire } from '../support/node-scene.ts';
import { proofOf, RawWorker } from '../support/raw-worker.ts';
import type { RawHttpWorker } from './raw-http-worker.ts';

export interface Task {
  readonly task: number;
  readonly id: string;
}

/** What others have at the node. */
export interface Victims {
  /** Runs on the worker of its owner. */
  readonly running: Task;
  /** Waits for a signal, and for a decision. */
  readonly waiting: Task;
  readonly asking: Task;
  /** Has the key `owner` of the limit `bank`, which ends what waits for what comes. */
  readonly ready: Task;
  readonly ended: Task;
}

/** A lease of the attacker's own. */
export type Lease = ReturnType<typeof proofOf>;

/** The worker that the secret belongs to, over either of our own links. */
export type Link = Pick<RawWorker & RawHttpWorker, 'told' | 'denied'>;

/** Counts what was refused, and keeps what was heard. */
export class Attacker {
  readonly node: NodeScene;
  readonly name: string;
  readonly secret: string;
  readonly owned: Victims;
  tried = 0;
  readonly #heard: string[] = [];

  constructor(node: NodeScene, name: string, secret: string, owned: Victims) {
    this.node = node;
    this.name = name;
    this.secret = secret;
    this.owned = owned;
  }

  refused(what: string, code: string | undefined, codes: readonly string[]): void {
    this.tried++;
    assert.ok(code !== undefined && codes.includes(code), `${what}: ${String(code)}`);
  }

  hear(said: unknown): void {
    this.#heard.push(JSON.stringify(said));
  }

  get learned(): string {
    return this.#heard.join('\n');
  }

  /** A call of JSON-RPC, which is refused at whichever address, alone and in a batch. */
  async rpcRefused(path: string, method: string, params: object, headers: Record<string, string> = {}): Promise<void> {
    const call = { jsonrpc: '2.0', id: 7, method, params };
    const ask = { token: this.secret, headers };
    const { body: alone } = await this.node.ask(path, { ...ask, body: call });
    const { body: batch } = await this.node.ask(path, { ...ask, body: [call] });
    for (const [how, said] of [
      ['alone', alone],
      ['in a batch', Array.isArray(batch) ? batch[0] : batch],
    ]) {
      this.hear(said);
      assert.notEqual(said?.error?.data?.code, 'TOO_MANY', 'it is refused for what it asks, not for how often');
      this.refused(`${method} at ${path} ${how}`, typeof said?.error, ['object']);
    }
  }
}

/** Every route that a worker has no business with, and the pages of browsers. */
export async function tryRoutes(attacker: Attacker): Promise<void> {
  const { node, secret, owned } = attacker;
  const bodies: Partial<Record<RouteName, unknown>> = {
    pushTasks: { queue: 'work', handler: 'shell', input: { command: 'id' } },
    sendSignal: { channel: 'pay:go' },
    decideApproval: { action: 'approve' },
  };
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, (typeof ROUTES)[RouteName]][]) {
    if (route.access === 'open' || route.access === 'any' || route.access === 'worker' || 'methods' in route) continue;
    const path = route.path
      .replace('{id}', name === 'decideApproval' ? owned.asking.id : owned.running.id)
      .replace(/\{\w+\}/g, 'private');
    const body = route.method === 'GET' ? {} : { body: bodies[name] ?? {} };
    const answer = await node.ask(path, { method: route.method, token: secret, ...body });
    attacker.hear(answer.body);
    attacker.refused(name, answer.body?.code ?? answer.body?.error?.code, ['FORBIDDEN']);
    const headers = { cookie: `leasehold_session=${secret}`, 'x-leasehold': '1' };
    const byCookie = await node.ask(path, { method: route.method, token: null, headers, ...body });
    attacker.refused(`${name} by cookie`, byCookie.body?.code ?? byCookie.body?.error?.code, [
      'UNAUTHENTICATED',
      'FORBIDDEN',
    ]);
  }
  const login = await node.ask('/ui/login', { token: null, body: { token: secret } });
  attacker.refused('a login', login.body?.error?.code, ['FORBIDDEN']);
  assert.equal(login.headers.get('set-cookie'), null);
}

/** What a name asks for when it comes: beyond its bound, if it has one. */
const BEYOND = {
  handlers: [{ handlers: ['pay'] }],
  queues: [{ queues: ['private'] }, { queues: ['work', 'private'] }],
  slots: [{ slots: 5 }],
};
export type Bound = keyof typeof BEYOND;
/** What no name is let in with. */
const ALWAYS_REFUSED = [{ slots: 10_000 }, { tags: ['gpu'] }, { priority: 1 }, { name: 'owner' }];

/** Registrations beyond what the name was given, over each link. */
export async function tryRegistrations(attacker: Attacker, bounds: readonly Bound[]): Promise<void> {
  const { node, name, secret } = attacker;
  for (const wish of [...bounds.flatMap((bound): readonly object[] => BEYOND[bound]), ...ALWAYS_REFUSED]) {
    const hello = { name, secret, handlers: ['echo'], slots: 1, ...wish };
    const raw = await RawWorker.dial(node.service.address);
    const said = await raw.greet(hello);
    attacker.refused(`connect ${JSON.stringify(wish)}`, said.error?.code, ['FORBIDDEN']);
    await raw.closed;
    const { secret: _, ...join } = { incarnation: 'evil', tags: [], ...hello };
    const joined = await node.ask('/workers/join', { token: secret, body: join });
    attacker.refused(`join ${JSON.stringify(wish)}`, joined.body.error?.code, ['FORBIDDEN']);
    const { handlers, slots, tags, ...rest } = join;
    const { queues, priority, name: own } = rest as { queues?: string[]; priority?: number; name: string };
    const capabilities = { handlers, tags, ...(queues === undefined ? {} : { queues }) };
    const body = { hostname: 'h', capabilities, slots, name: own, ...(priority === undefined ? {} : { priority }) };
    const registered = await node.ask('/workers/register', { token: secret, body });
    attacker.refused(`register ${JSON.stringify(wish)}`, registered.body.error?.code, ['FORBIDDEN']);
  }
}

/** Everything that a turn can do to others. */
export async function tryTurns(attacker: Attacker, worker: Link, lease: Lease): Promise<void> {
  const on = { go: 'on' };
  const { running, waiting, ended, asking } = attacker.owned;
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
    ['spawn with permissions', { entries: child({ permissions: { handlers: ['shell'] } }), then: on }],
    ['spawn for a worker', { entries: child({ placement: { only: ['owner'] } }), then: on }],
    ['spawn for a tag', { entries: child({ placement: { requires: ['gpu'] } }), then: on }],
    ['spawn for a credential', { entries: child({ placement: { credentials: ['bank'] } }), then: on }],
    ...[
      'bank',
      { name: 'bank', key: 'owner' },
      { name: 'bank', key: 'work' },
      { name: 'bank', key: 'work', weight: 9 },
    ].map((use) => [`spawn with ${JSON.stringify(use)}`, { entries: child({ limits: [use] }), then: on }] as const),
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
    attacker.hear(error);
    attacker.refused(what, error.code, ['FORBIDDEN', 'NOT_FOUND', 'INVALID_INPUT']);
  }
  await tryReading(attacker, worker, lease);
}

async function tryReading(attacker: Attacker, worker: Link, lease: Lease): Promise<void> {
  const { running, ended } = attacker.owned;
  for (const ref of [running.task, running.id, ended.task, ended.id]) {
    const [result] = await worker.told('results', { lease, tasks: [ref] });
    attacker.hear(result);
    attacker.refused(`read ${ref}`, result.state, ['gone']);
  }
}

/** Tasks that only look like children: by the names of checkpoints, and by ids in the input of a child that the worker spawns itself. */
export async function tryParents(
  attacker: Attacker,
  worker: Link,
  lease: Lease,
  claim: () => Promise<Lease>,
): Promise<void> {
  const { node, owned } = attacker;
  const strangers = Object.values(owned) as Task[];
  const marks = strangers.map(({ task, id }) => ({
    key: `spawn:pay#${task}`,
    kind: 'value',
    value: JSON.stringify({ task, id }),
  }));
  const input = JSON.stringify(strangers.map(({ id }) => id));
  const child = { key: 'child', kind: 'child', child: { queue: 'work', handler: 'echo', input } };
  await worker.told('task_turn', { lease, entries: [...marks, child], then: { go: 'on' } });
  await tryReading(attacker, worker, lease);
  const own = await claim();
  await tryReading(attacker, worker, own);
  for (const { id } of strangers) {
    const error = await worker.denied('task_turn', {
      lease: own,
      entries: [],
      then: { go: 'park', key: 'w', children: [id] },
    });
    attacker.refused(`wait for ${id} by the input of a child`, error.code, ['NOT_FOUND']);
  }
  await worker.told('task_complete', { lease: own });
  const id = node.engine.idOf((await node.engine.get(lease.task)) as never);
  const tree = await node.call('showTree', `/api/v1/tasks/${id}/tree`);
  const members = tree.tasks.map((one: Wire) => one.id);
  for (const one of strangers) attacker.refused(`adopt ${one.id}`, String(members.includes(one.id)), ['false']);
}

/** Leases of others, by guesses. */
export async function tryLeases(attacker: Attacker, worker: Link, own: Lease): Promise<void> {
  const { task } = attacker.owned.running;
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
      ['reusable', {}],
      ['keep', { result: '1' }],
      ['results', { tasks: [task] }],
      ['task_progress', { logs: [{ seq: 1, at: 0, stream: 'log', text: 'mine' }] }],
      ['task_turn', { entries: [], then: { go: 'complete' } }],
    ] as const) {
      const error = await worker.denied(type, { lease, ...fields });
      attacker.refused(`${type} of another`, error.code, ['LEASE_LOST']);
    }
    attacker.refused('renew of another', (await worker.told('lease_renew', { leases: [lease] }))[0], ['lost']);
  }
}

/** A worker of loopd, which names every lease by a token. */
export async function tryLoopd(attacker: Attacker): Promise<void> {
  const { node, secret, owned } = attacker;
  const ask = async (path: string, body: object, session?: string): Promise<Wire> => {
    const headers = session === undefined ? {} : { 'x-session-token': session };
    return (await node.ask(path, { token: session === undefined ? secret : null, body, headers })).body;
  };
  let own: Wire;
  do own = await ask('/workers/register', { hostname: 'h', capabilities: ['echo'] });
  while (own.error?.code === 'CONFLICT');
  const { worker_id: id, session_token: session } = own;
  assert.equal(await ask(`/workers/${id}/claim`, {}, session), '', 'there is nothing for it');
  for (const { id: step } of [owned.running, owned.ready, owned.waiting]) {
    for (const lease_token of ['1.x', '2.x', `1.${'A'.repeat(22)}`]) {
      const events = [{ seq: 1, event_type: 'stdout', payload: 'mine' }];
      for (const [path, body] of [
        ['events', { events }],
        ['complete', { status: 'succeeded' }],
        ['complete', { status: 'canceled' }],
        ['complete', { status: 'failed' }],
      ] as const) {
        const said = await ask(`/steps/${step}/${path}`, { lease_token, ...body }, session);
        attacker.refused(`${path} of another`, said.error?.code, ['LEASE_LOST']);
      }
      const beat = await ask(`/workers/${id}/heartbeat`, { leases: [{ step_id: step, lease_token }] }, session);
      attacker.refused('a beat for another', String(beat.lost), [step]);
    }
  }
  for (const path of ['claim', 'heartbeat', 'tasks', 'ask']) {
    const body = { tasks: { n: 1, max: 1, waitMs: 0, holding: [] }, ask: { asked: [{ type: 'cancels', n: 1 }] } };
    const said = await ask(`/workers/owner/${path}`, body[path as 'tasks'] ?? {}, session);
    attacker.refused(`${path} of another`, said.error?.code, ['FORBIDDEN']);
  }
  await ask(`/workers/${id}/heartbeat`, { status: 'offline' }, session);
}

/** Every method of JSON-RPC at every address: those of apflow, of A2A in both versions, and of MCP. */
export async function tryRpc(attacker: Attacker, isGranted: boolean): Promise<void> {
  const { name, owned } = attacker;
  const { running, ready } = owned;
  const one = { task_id: running.id };
  for (const path of ['/', '/rpc', '/tasks', '/system']) {
    for (const [method, { access }] of Object.entries(METHODS))
      if (access !== 'worker') await attacker.rpcRefused(path, method, one);
  }
  const nodes: readonly (readonly [string, object])[] = [
    ['register_node', { node_id: 'owner', executor_types: ['pay'] }],
    ['register_node', { node_id: name, executor_types: ['echo'], capabilities: ['gpu'] }],
    ...(isGranted ? [['register_node', { node_id: name, executor_types: ['pay'] }] as const] : []),
    ['acquire_lease', { node_id: name, task_id: ready.id }],
    ['acquire_lease', { node_id: 'owner', task_id: ready.id }],
    ['find_executable_tasks', { node_id: 'owner' }],
    ['heartbeat', { node_id: 'owner' }],
    ['deregister_node', { node_id: 'owner' }],
    ...['owner', name].flatMap((node_id) => {
      const lease_token = `${running.task}.1.${'A'.repeat(22)}.${node_id}`;
      return [
        ['renew_lease', { lease_token }],
        ['report_completion', { task_id: running.id, node_id, lease_token, result: 1 }],
      ] as const;
    }),
  ];
  for (const [method, params] of nodes) await attacker.rpcRefused('/rpc', method, params);
  await registered(attacker);
  for (const { id } of Object.values(owned) as Task[])
    await attacker.rpcRefused('/rpc', 'acquire_lease', { node_id: name, task_id: id });
  const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] };
  const params = { id: running.id, name: running.id, message };
  for (const path of ['/', '/a2a']) {
    for (const method of ['SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'])
      await attacker.rpcRefused(path, method, params, { 'a2a-version': '1.0' });
    for (const method of ['message/send', 'message/stream', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe'])
      await attacker.rpcRefused(path, method, params);
  }
  const accept = { accept: 'application/json, text/event-stream' };
  for (const method of ['initialize', 'tools/list', 'tools/call', 'resources/list'])
    await attacker.rpcRefused('/mcp', method, { name: 'get_task', arguments: { id: running.id } }, accept);
}

/** Its own registration shows it nothing that it may not run. */
async function registered({ node, name, secret, ...attacker }: Attacker): Promise<void> {
  const call = async (method: string, params: object): Promise<Wire> =>
    (await node.ask('/rpc', { token: secret, body: { jsonrpc: '2.0', id: 1, method, params } })).body;
  while ((await call('register_node', { node_id: name, executor_types: ['echo'] })).error !== undefined);
  const { result } = await call('find_executable_tasks', { node_id: name, limit: 100 });
  assert.deepEqual(result, [], `there is nothing for it, ${attacker.tried} tries on`);
}

/** An agent of dazflow, which names no lease at all. */
export async function tryDazflow(attacker: Attacker): Promise<void> {
  const { node, name, secret, owned } = attacker;
  const agent = await PlainAgent.enter(node.service.address, { name, secret });
  for (const { id: task_id } of Object.values(owned) as Task[]) {
    for (const said of [
      { type: 'task_claim' },
      { type: 'task_complete', result: 1 },
      { type: 'task_failed', error: 'x' },
    ]) {
      agent.say({ ...said, task_id });
      attacker.refused(said.type, (await agent.hear('task_claimed_fail')).task_id, [task_id]);
    }
    agent.say({ type: 'task_progress', task_id, logs: ['mine'] });
    attacker.refused('task_progress', (await agent.hear('kill_task')).task_id as string, [task_id]);
  }
  attacker.hear(agent.told);
  await agent.hangUp();
}

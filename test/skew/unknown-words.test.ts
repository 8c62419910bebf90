/** What a newer node or worker says beyond what this one knows is ignored: a field is left out, and a request is refused by itself. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { makeWorker } from '../../src/app/worker.ts';
import { realWorld } from '../../src/app/world.ts';
import { WORKER_PATH } from '../../src/protocol/frames.ts';
import type { Link } from '../../src/protocol/link.ts';
import { task } from '../../src/worker/define/task.ts';
import { HttpLink } from '../../src/worker/links/http-link.ts';
import { WsLink } from '../../src/worker/links/ws-link.ts';
import { type Line, target } from '../attacks/scene.ts';
import type { NodeScene, Wire } from '../support/node-scene.ts';
import { greeting, proofOf, RawWorker } from '../support/raw-worker.ts';

/** A field that nobody knows yet, in several shapes. */
const NEWER = { newer: true, newerStill: { of: ['a', 1, null] } } as const;
const timeout = 60_000;

type Request = { readonly type: string } & Readonly<Record<string, unknown>>;

const push = (node: NodeScene): Promise<{ readonly task: number }> =>
  node.engine.push({ queue: 'work', handler: 'echo', input: 1 });

const complaints = (log: readonly Line[]): readonly string[] =>
  log.filter(({ level }) => level !== 'info').map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`);

/** The requests of one attempt from its first line to its end, each with fields that nobody knows. */
function attemptOf(lease: object): readonly Request[] {
  const held = { ...lease, ...NEWER };
  const entries = [
    { key: 'step#0', kind: 'value', value: '1', ...NEWER },
    {
      key: 'spawn:echo#0',
      kind: 'child',
      child: { queue: 'children', handler: 'echo', delay: 3_600_000 },
      ...NEWER,
    },
  ];
  const logs = [{ seq: 1, at: 1, stream: 'stdout', text: 'a line', ...NEWER }];
  return [
    { type: 'task_progress', lease: held, logs, ...NEWER },
    { type: 'journal', lease: held, ...NEWER },
    { type: 'task_turn', lease: held, entries, then: { go: 'on', ...NEWER }, ...NEWER },
    { type: 'lease_renew', leases: [held], ...NEWER },
    { type: 'task_complete', lease: held, result: '"done"', ...NEWER },
  ];
}

async function checkAttempt(node: NodeScene, number: number): Promise<void> {
  const record = await node.engine.get(number);
  assert.deepEqual([record?.state, record?.attempt], ['completed', 1]);
  assert.deepEqual(
    (await node.engine.logs.read(number)).map(({ text }) => text),
    ['a line'],
  );
  assert.equal((await node.engine.journal(number)).length, 2);
  assert.equal((await node.engine.list({ queue: 'children', limit: 10 })).length, 1);
}

/** Its tasks may spawn into the queue of the children. */
async function nodeFor(t: TestContext): Promise<{ node: NodeScene; log: readonly Line[]; secret: string }> {
  const { node, log } = await target(t);
  const body = { name: 'a', permissions: { queues: ['children'] } };
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body });
  return { node, log, secret };
}

// A newer worker and this node

test('a code is exchanged, whatever a newer worker says beside it', { timeout }, async (t) => {
  const { node } = await nodeFor(t);
  const { code } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'b', code: true } });
  const { name } = await node.call('enrolWorker', '/api/v1/workers/enrol', { token: null, body: { code, ...NEWER } });
  assert.equal(name, 'b');
});

test('WebSocket: the node ignores fields that it does not know, from the first message to the end of a task', {
  timeout,
}, async (t) => {
  const { node, log, secret } = await nodeFor(t);
  const worker = await RawWorker.dial(node.service.address);
  t.after(() => worker.hangUp());
  worker.say({ ...greeting({ name: 'a', secret }), ...NEWER });
  const said = await worker.hear(({ type }) => type.startsWith('connect_'));
  assert.equal(said.type, 'connect_ok', JSON.stringify(said));
  const { task: number } = await push(node);
  const [granted] = await worker.told('task_claim', { max: 1, waitMs: 0, ...NEWER });
  for (const { type, ...fields } of attemptOf(proofOf(granted))) await worker.told(type, fields);
  await worker.told('heartbeat', { state: 'online', ...NEWER });
  await checkAttempt(node, number);
  assert.deepEqual(complaints(log), []);
});

test('WebSocket: a worker that comes back with unknown fields in its proofs keeps its leases', {
  timeout,
}, async (t) => {
  const { node, secret } = await nodeFor(t);
  const first = await RawWorker.dial(node.service.address);
  await first.enter({ name: 'a', secret, incarnation: 'one' });
  const { task: number } = await push(node);
  const lease = proofOf(await first.claimOne());
  await first.hangUp();
  const second = await RawWorker.dial(node.service.address);
  t.after(() => second.hangUp());
  await second.enter({ name: 'a', secret, incarnation: 'one', holding: [{ ...lease, ...NEWER }] });
  await second.told('task_complete', { lease });
  assert.deepEqual((await node.engine.get(number))?.attempt, 1);
});

test('WebSocket: the node refuses a request of a type that it does not know, and answers those beside it', {
  timeout,
}, async (t) => {
  const { node, log, secret } = await nodeFor(t);
  const worker = await RawWorker.dial(node.service.address);
  t.after(() => worker.hangUp());
  await worker.enter({ name: 'a', secret });
  const [before, unknown, after] = [worker.number(), worker.number(), worker.number()];
  worker.say([
    { type: 'cancels', n: before },
    { type: 'task_teleport', n: unknown, lease: { planet: 'mars' }, ...NEWER },
    { type: 'cancels', n: after },
  ]);
  const answers = await Promise.all([before, unknown, after].map((n) => worker.hear(({ re }) => re === n)));
  assert.deepEqual(
    answers.map(({ type }) => type),
    ['ok', 'refused', 'ok'],
  );
  assert.equal(answers[1]?.error?.code, 'INVALID_INPUT');
  await push(node);
  await worker.told('task_complete', { lease: proofOf(await worker.claimOne()) });
  assert.deepEqual(complaints(log), []);
});

test('HTTP: the node ignores fields that it does not know, and refuses an unknown request by itself', {
  timeout,
}, async (t) => {
  const { node, log, secret } = await nodeFor(t);
  const { type: _, holding: _none, ...hello } = greeting({ name: 'a' }) as Record<string, unknown>;
  const joined = await node.call('joinWorker', '/workers/join', { token: secret, body: { ...hello, ...NEWER } });
  const { task: number } = await push(node);
  const ask = { token: null, headers: { 'x-session-token': joined.session as string } };
  const took = await node.call('takeTasks', `/workers/${joined.worker}/tasks`, {
    ...ask,
    body: { n: 1, max: 1, waitMs: 0, holding: [], ...NEWER },
  });
  let n = 0;
  // Requests of one call are answered side by side, so that each waits for the one before.
  for (const one of attemptOf(proofOf(took[0]))) {
    const asked = [
      { type: 'task_teleport', n: ++n, ...NEWER },
      { ...one, n: ++n },
    ];
    const body = { asked, ...NEWER };
    const { answers } = await node.call('askNode', `/workers/${joined.worker}/ask`, { ...ask, body });
    assert.deepEqual(
      answers.toSorted((a: Wire, b: Wire) => a.re - b.re).map(({ type }: Wire) => type),
      ['refused', 'ok'],
      JSON.stringify(answers),
    );
  }
  await checkAttempt(node, number);
  assert.deepEqual(complaints(log), []);
});

// A newer node and this worker

const GRANTED = {
  task: 1,
  attempt: 1,
  token: 'proof',
  id: 'task_1',
  queue: 'work',
  handler: 'echo',
  payload: '{"of":"a newer node"}',
  tries: 1,
  maxTries: 3,
  createdAt: 1,
  suspect: false,
  ...NEWER,
};

/** A node that grants one task and says more than this worker knows. */
class NewerNode {
  readonly ended = Promise.withResolvers<Wire>();
  #granted = false;
  /** Ends the claim that waits. */
  stopClaim = (): void => {};

  /** Undefined: a claim that finds nothing waits. */
  answer(request: Wire): object | undefined {
    const { type, n } = request;
    const ok = (value?: unknown): object => ({
      type: 'ok',
      re: n,
      ...(value === undefined ? {} : { value }),
      ...NEWER,
    });
    if (type === 'task_claim') return this.#granted ? undefined : ok(this.grant());
    if (type === 'claim_stop') this.stopClaim();
    if (type === 'task_complete') this.ended.resolve(request);
    if (type === 'task_failed' || type === 'task_release') this.ended.reject(new Error(JSON.stringify(request)));
    if (type === 'lease_renew') return ok(request.leases.map(() => 'held'));
    if (type === 'cancels') return ok([]);
    return ok();
  }

  grant(): readonly object[] {
    const granted = this.#granted ? [] : [GRANTED];
    this.#granted = true;
    return granted;
  }
}

const UNKNOWN = { type: 'planet_moved', re: 999, ...NEWER };

async function overWebSocket(t: TestContext, node: NewerNode): Promise<{ url: string; connections: () => number }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: WORKER_PATH });
  await once(server, 'listening');
  let connections = 0;
  server.on('connection', (socket: WebSocket) => {
    connections++;
    const say = (what: unknown): void => socket.send(JSON.stringify(what));
    socket.on('message', (data: Buffer) => {
      const said = JSON.parse(data.toString()) as Wire;
      for (const one of Array.isArray(said) ? said : [said]) {
        if (one.type === 'alive') continue;
        if (one.type === 'connect') {
          say({ type: 'connect_ok', leaseMs: 30_000, ...NEWER });
          say({ type: 'config_update', enabled: true, priority: 0, tags: [], ...NEWER });
          say(UNKNOWN);
          continue;
        }
        const answer = node.answer(one);
        if (answer !== undefined) say([UNKNOWN, answer]);
        else node.stopClaim = () => say({ type: 'ok', re: one.n, value: [], ...NEWER });
      }
    });
  });
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => connections };
}

async function overHttp(t: TestContext, node: NewerNode): Promise<{ url: string; connections: () => number }> {
  let joins = 0;
  const answerTo = ({ url = '' }: IncomingMessage, body: Wire): object | undefined => {
    if (url.endsWith('/join')) {
      joins++;
      return { worker: 'w', session: 's', leaseMs: 30_000, ...NEWER };
    }
    if (url.endsWith('/ask'))
      return { answers: [UNKNOWN, ...body.asked.map((one: Wire) => node.answer(one))], ...NEWER };
    const granted = node.grant();
    return granted.length === 0 ? undefined : granted;
  };
  const server = createServer((request, response) => {
    void Array.fromAsync(request as AsyncIterable<Buffer>).then((chunks) => {
      const answer = answerTo(request, JSON.parse(Buffer.concat(chunks).toString()));
      if (answer !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      else node.stopClaim = () => void response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => joins };
}

const WAYS = [
  [
    'WebSocket',
    overWebSocket,
    (url: string, log: Log): Link => new WsLink({ url, secret: 'x', world: realWorld(), log }),
  ],
  ['HTTP', overHttp, (url: string, log: Log): Link => new HttpLink({ url, secret: 'x', world: realWorld(), log })],
] as const;

type Log = Parameters<typeof makeWorker>[1]['log'];

for (const [way, serve, linkTo] of WAYS) {
  test(`${way}: the worker ignores fields and messages of its node that it does not know, and runs its task`, {
    timeout,
  }, async (t) => {
    const node = new NewerNode();
    const { url, connections } = await serve(t, node);
    const said: string[] = [];
    const note = (message: string, fields: object = {}): void => void said.push(`${message} ${JSON.stringify(fields)}`);
    const log: Log = { info: () => {}, warn: note, error: note };
    const link = linkTo(url, log);
    const worker = makeWorker(
      { tasks: [task('echo', { run: (input) => input })] },
      { link, world: realWorld(), log, name: 'a' },
    );
    await worker.start();
    t.after(() => worker.stop({ drain: false }));
    const { lease, result } = await node.ended.promise;
    assert.deepEqual([lease.task, lease.attempt, lease.token, result], [1, 1, 'proof', GRANTED.payload]);
    await worker.stop();
    assert.deepEqual([connections(), said], [1, []]);
  });
}

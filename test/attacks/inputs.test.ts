/** Attacks by what is said: bodies, queries and fields that are no good. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import type { Route } from '../../src/protocol/route.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import { PlainProblem, Problem } from '../../src/protocol/shapes/problem.ts';
import { place } from '../e2e/cli/cli-calls.ts';
import { run, temporaryFolder } from '../support/leasehold.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { proofOf } from '../support/raw-worker.ts';
import { full, longer } from '../support/scale.ts';
import { bytes, codeOf, hire, STORES, target } from './scene.ts';
import { HOSTILE } from './strings.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);

/** A turn that starts a child. */
const bearing = (handler: string, key: string): object => ({
  entries: [{ key, kind: 'child', child: { queue: 'q', handler } }],
  then: { go: 'on' },
});

test('A33: JSON that is too deep, too large, no JSON, or would not stay what it is, is refused whole', async (t) => {
  const { node, log } = await target(t);
  const push = (input: string) => node.ask('/api/v1/tasks', { body: `{"queue":"q","input":${input}}` });
  const refused: Readonly<Record<string, string>> = {
    deep: `${'['.repeat(65)}${']'.repeat(65)}`,
    'a million deep': '['.repeat(1_000_000) + ']'.repeat(1_000_000),
    'deep in objects': `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
    NaN: 'NaN',
    Infinity: '-Infinity',
    'beyond all numbers': '1e400',
    'a number that would change': '9007199254740993',
    'a long number that would change': '123456789012345678901234567890',
    NUL: '"a\\u0000b"',
    'half a surrogate': '"\\ud800"',
    'the other half': '"\\udc00x"',
    'half a surrogate as a key': '{"\\ud800":1}',
    'a prototype': '{"__proto__":{"polluted":true}}',
    'a trailing comma': '[1,]',
    'a comment': '1/**/',
    'single quotes': "'a'",
    'a byte order mark': '\ufeff1',
    'two values': '1 2',
    'an open string': '"abc',
    'a raw newline in a string': '"a\nb"',
    'a raw NUL': '"a\u0000b"',
  };
  for (const [what, text] of Object.entries(refused)) assert.equal(codeOf(await push(text)), '400 INVALID_INPUT', what);
  assert.equal(codeOf(await push(JSON.stringify('x'.repeat(1_100_000)))), '413 TOO_LARGE');
  assert.equal(codeOf(await push(JSON.stringify('x'.repeat(17 * 1024 * 1024)))), '413 TOO_LARGE');
  const many = `{"tasks":[${Array.from({ length: 5001 }, () => '{"queue":"q"}').join()}]}`;
  assert.equal(codeOf(await node.ask('/api/v1/tasks', { body: many })), '400 INVALID_INPUT');
  // A gigabyte that is announced is not waited for.
  const head = `POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${node.admin}\r\nContent-Type: application/json`;
  assert.equal((await bytes(t, node, `${head}\r\nContent-Length: 1073741824`)).status, 413);
  const latin = await bytes(
    t,
    node,
    `${head}\r\nContent-Length: 28`,
    Buffer.from('{"queue":"q","input":"\xff\xfe"}', 'latin1').toString('latin1'),
  );
  assert.ok(latin.status === 400 || latin.status === 201, String(latin.status));
  assert.deepEqual(
    (await node.engine.queues()).filter(({ stats }) => stats.ready > 1),
    [],
  );
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);

  const twice = await node.ask('/api/v1/tasks', { body: '{"queue":"one","queue":"two","input":{"a":1,"a":2}}' });
  assert.deepEqual(
    [twice.body.queue, twice.body.input],
    ['two', { a: 2 }],
    'of a key that comes twice the last one counts, everywhere',
  );
  const kept = ['{"toString":1,"constructor":[]}', '"\\u2028\\ud83d\\ude00"', '[5e-324,-0.1,1.5]', '""'];
  for (const text of kept) {
    const { status, body } = await push(text);
    assert.equal(status, 201, text);
    assert.deepEqual(body.input, JSON.parse(text));
  }
  assert.deepEqual(log, []);
});

/** Words that no answer has: of a database, a file, or a place in our code. */
const LEAK =
  /\b(select|insert into|update \w+ set|from \w+\.\w+|sqlite|postgres|pg_|no such (table|column)|relation|syntax error|errcode|sqlstate|ECONN\w+|ENOENT|EACCES)\b|\/(dev|tmp|work|home|usr|etc|root)\/|node_modules|node:internal|\.[tj]s:\d|\bat (async )?[\w.#<>]+ \(|\bstack/i;

/** Takes a table away under a node that runs. */
const BREAK: Readonly<Record<keyof typeof STORES, (url: string) => Promise<void>>> = {
  sqlite: async (url) => {
    const db = new DatabaseSync(url.slice('sqlite:'.length));
    db.exec('PRAGMA legacy_alter_table = ON');
    for (const table of ['task', 'entry_token', 'queue', 'worker', 'limit_def']) {
      try {
        db.exec(`ALTER TABLE ${table} RENAME TO gone_${table}`);
      } catch {
        // Not every schema has each of them.
      }
    }
    db.close();
  },
  postgres: async (url) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<{ schema: string }>(
      "SELECT table_schema AS schema FROM information_schema.tables WHERE table_name = 'entry_token'",
    );
    for (const table of ['task', 'entry_token', 'queue', 'worker']) {
      await client.query(`ALTER TABLE "${rows[0]?.schema}".${table} RENAME TO gone_${table}`);
    }
    await client.end();
  },
};

const ODD = [
  '1',
  'x',
  '%00',
  '..%2f..%2fetc%2fpasswd',
  "'%20OR%201=1--",
  'task_0198-zz',
  '99999999999999',
  '%F0%9F%98%80',
];

const isDoor = ({ methods, rpc }: Route): boolean => methods === true || rpc === true;

/** Every route with odd things in every place, as somebody who may do everything; what it has answered with. */
async function walk(node: NodeScene): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const [name, route] of ALL) {
    // Doors of other protocols have their own form of refusals, and tests of their own.
    if (isDoor(route)) continue;
    for (const odd of ODD) {
      const path = route.path.replace(/\{\w+\}/g, odd);
      // What follows a log would not end.
      const keys = Object.keys(route.query?.shape ?? {}).filter((key) => key !== 'follow');
      const query = ['', ...keys.map((key) => `?${key}=${odd}`)];
      for (const more of query) {
        const url = path + more;
        if (route.stream === 'events') continue;
        const bodies =
          route.method === 'GET'
            ? [undefined]
            : [{}, { name: odd }, { queue: 'q', channel: 'c', for: 1, action: odd, code: odd, role: 'read' }];
        for (const body of bodies) {
          const { status, body: answer } = await node.ask(url, {
            method: route.method,
            ...(body === undefined ? {} : { body }),
          });
          if (status < 400) continue;
          const form = route.plain ? PlainProblem : Problem;
          assert.equal(form.safeParse(answer).error, undefined, `${name}: ${JSON.stringify(answer)}`);
          answers.push(`${status} ${name} ${JSON.stringify(answer)}`);
        }
      }
    }
  }
  return answers;
}

for (const store of ['sqlite', 'postgres'] as const) {
  test(`A41: no refusal tells of SQL, files or code, also when the store is broken under the node (${store})`, async (t) => {
    const url = await STORES[store]();
    const { node, log } = await target(t, { store: url });
    await node.engine.push({ queue: 'q', handler: 'h' });
    const whole = await walk(node);
    assert.ok(whole.length > 200, String(whole.length));
    for (const answer of whole) {
      assert.match(answer, /^4/, answer);
      // What was typed is told back to who typed it, and to nobody else.
      assert.doesNotMatch(answer.replaceAll(/etc\/passwd|OR 1=1--/g, ''), LEAK);
    }
    const { worker } = await hire(node, 'victim');
    await BREAK[store](url);
    const broken = await walk(node);
    const failed = broken.filter((answer) => answer.startsWith('5'));
    assert.ok(failed.length > 20, `${failed.length} of ${broken.length} failed`);
    for (const answer of broken) assert.doesNotMatch(answer.replaceAll(/etc\/passwd|OR 1=1--/g, ''), LEAK);
    const said = await worker.ask('task_claim', { max: 1, waitMs: 0 });
    assert.equal(said.type, 'refused');
    assert.doesNotMatch(JSON.stringify(said), LEAK);
    const ready = await node.ask('/readyz');
    assert.doesNotMatch(JSON.stringify(ready.body), LEAK);
    // Whoever runs the node finds it all, under the number that the caller was told.
    const { headers } = await node.ask('/api/v1/tasks');
    const line = log.find(({ fields }) => fields['request'] === headers.get('x-request-id'));
    assert.match(String(line?.fields['error']), /task|relation|table/);
  });
}

/** One request whose stream, if it is one, is not waited for. */
function statusOf(node: NodeScene, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { hostname, port } = new URL(node.service.address);
  return new Promise((resolve, reject) => {
    const asking = request({
      hostname,
      port,
      path,
      headers: { authorization: `Bearer ${node.admin}`, ...headers },
    });
    asking.on('error', reject).on('response', (answer) => {
      resolve(answer.statusCode ?? 0);
      if (answer.headers['content-type']?.startsWith('text/event-stream')) answer.on('error', () => {}).destroy();
      else answer.resume();
    });
    asking.end();
  });
}

/** The hostile strings in every parameter of every address. Answers how many requests that were. */
async function injectAll(t: TestContext, url: string): Promise<number> {
  const { node, log } = await target(t, { store: url });
  const { id } = await node.engine.push({ queue: 'q', handler: 'h', input: { secret: 4711 } });
  const places: ((text: string) => readonly [path: string, headers?: Record<string, string>])[] = [];
  for (const [, route] of ALL) {
    if (route.method !== 'GET') continue;
    const good = route.path.replace(/\{\w+\}/g, id);
    for (const key of Object.keys(route.query?.shape ?? {})) places.push((text) => [`${good}?${key}=${text}`]);
    if (route.path.includes('{')) places.push((text) => [route.path.replace(/\{\w+\}/g, text)]);
  }
  places.push((text) => [`/api/v1/tasks?state=ready&queue=${text}&queue=q`]);
  places.push((text) => [`/api/v1/events?after=0&kind=${text}`]);
  const statuses = new Map<number, number>();
  let sent = 0;
  const strings = HOSTILE.map((text) => encodeURIComponent(text) || '%20');
  // At the short size each place has every sixth string, and each string every sixth place: others on either store.
  const every = full ? 1 : longer ? 3 : 6;
  const first = url.startsWith('sqlite:') ? 0 : 3;
  for (const [i, place] of places.entries()) {
    const own = strings.filter((_, n) => (n + i + first) % every === 0);
    for (let from = 0; from < own.length; from += 25) {
      const some = await Promise.all(own.slice(from, from + 25).map((text) => statusOf(node, ...place(text))));
      for (const status of some) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      sent += some.length;
    }
  }
  assert.ok(
    [...statuses.keys()].every((status) => status < 500),
    JSON.stringify([...statuses]),
  );
  assert.ok((statuses.get(400) ?? 0) > sent / 2, JSON.stringify([...statuses]));
  const { tasks } = await node.call('listTasks', '/api/v1/tasks');
  assert.deepEqual(
    tasks.map((one: { id: string; state: string }) => [one.id, one.state]),
    [[id, 'ready']],
  );
  assert.deepEqual(
    log.filter(({ level }) => level !== 'info'),
    [],
  );
  assert.equal((await node.engine.store.tokenList()).length, 0);
  return sent;
}

for (const store of ['sqlite', 'postgres'] as const) {
  test(`A42: none of 500 strings that were made to break SQL does more than be refused, in any parameter (${store})`, async (t) => {
    assert.ok(HOSTILE.length >= 500, String(HOSTILE.length));
    const sent = await injectAll(t, await STORES[store]());
    t.diagnostic(`${sent} requests`);
  });
}

/** Of each route that takes a body, one that is good. */
const GOOD: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  pushTasks: { queue: 'q' },
  createWorker: { name: 'box' },
  editWorker: { enabled: true },
  rotateWorker: { grace: '1h' },
  enrolWorker: { code: 'x' },
  putPool: { name: 'papers' },
  checkPool: { dryRun: true },
  createLimit: { name: 'api', concurrent: 1 },
  editLimit: { concurrent: 2 },
  pauseLimit: { for: '1m' },
  sendSignal: { channel: 'c' },
  decideApproval: { action: 'approve' },
  cancelTask: { dryRun: true },
  retryTask: { dryRun: true },
  purgeQueue: { dryRun: true },
  login: { code: 'x' },
  saveView: { name: 'v', screen: 'tasks', query: '' },
  createToken: { name: 'x', role: 'read' },
  rotateToken: { grace: '1h' },
  registerWorker: { hostname: 'h', capabilities: ['echo'] },
  beatWorker: {},
  claimSteps: {},
  joinWorker: { name: 'w', incarnation: 'i', slots: 1, tags: [], handlers: ['echo'] },
  takeTasks: { n: 1, max: 1, waitMs: 0, holding: [] },
  appendEvents: { lease_token: 'x', events: [{ seq: 1, event_type: 'log' }] },
  completeStep: { lease_token: 'x', status: 'completed' },
  askNode: { asked: [{ n: 1, type: 'cancels' }] },
  editNode: { role: 'auto' },
  pushGraph: { tasks: [{ queue: 'q' }] },
  resumeLimit: {},
  retryQueue: { states: ['failed'], dryRun: true },
  startRun: { use: 'echo_processor' },
  startLoop: { workspace_root: 'main/x', prompt: 'x' },
  cancelRun: {},
  forkRun: {},
  setRunBudget: { unit: 'calls', hard: 1 },
  putSchedule: { name: 'nightly', queue: 'q', daily: '03:00' },
  putTrigger: { name: 'paid', kind: 'manual', push: { queue: 'q' } },
  fireTrigger: { input: 1 },
  setCredential: { name: 'db', value: 'v' },
  grantCredential: { workers: ['w'] },
  revokeCredential: { workers: ['w'] },
  createTag: { name: 'gpu' },
  renameTag: { name: 'cuda' },
  editUpgrade: { canary: 10 },
  applyWorkflow: { name: 'nightly', workflow: { nodes: [] } },
  checkRun: { text: 'spec: flatmachine' },
  checkWorkflow: { workflow: { nodes: [] } },
  restoreWorkflow: { expected: 1 },
  runWorkflow: { version: 1 },
};

const ASSIGNED = [
  'state',
  'fence',
  'attempt',
  'tries',
  'owner',
  'tenant',
  'holder',
  'id',
  'createdAt',
  'by',
  'hash',
  'kind',
  'op',
  'spec',
  'lane',
  'depth',
  '__proto__x',
  'constructor',
  'admin',
];

const isFrame = (name: string): boolean => ['enrolWorker', 'joinWorker', 'takeTasks', 'askNode'].includes(name);

test('A43: nobody sets what is not theirs to set: a field that is not named is refused, in every body', async (t) => {
  const { node } = await target(t);
  const { secret } = await hire(node, 'w');
  const before = (await node.call('listTokens', '/api/v1/tokens')).tokens.length;
  const taking = ALL.filter(([, route]) => route.body !== undefined && !isDoor(route) && route.raw !== true);
  assert.deepEqual(
    taking.map(([name]) => name).sort(),
    Object.keys(GOOD).sort(),
    'every route that takes a body is tried',
  );
  for (const [name, route] of taking) {
    // Words of other versions are ignored between workers and nodes, and set nothing.
    if (isFrame(name)) continue;
    const path = route.path.replace(/\{\w+\}/g, '999');
    for (const field of ASSIGNED) {
      const body = { ...GOOD[name], [field]: 'admin' };
      const token = route.access === 'worker' ? secret : node.admin;
      const answer = await node.ask(path, { method: route.method, token, body });
      assert.equal(codeOf(answer), '400 INVALID_INPUT', `${name}.${field}`);
      assert.match(answer.body.error.message ?? answer.body.error, new RegExp(field), name);
    }
  }
  for (const body of [
    { tasks: [{ queue: 'q', state: 'completed' }] },
    { tasks: [{ queue: 'q' }], state: 'completed' },
    { queue: 'q', placement: { only: ['w'], holder: 1 } },
    { queue: 'q', retry: { tries: 0 } },
    { queue: 'q', unique: { key: 'k', owner: 'me' } },
    { queue: 'q', limits: [{ name: 'api', active: 0 }] },
    { name: 'x', role: 'worker' },
  ]) {
    assert.equal(
      codeOf(await node.ask('name' in body ? '/api/v1/tokens' : '/api/v1/tasks', { body })),
      '400 INVALID_INPUT',
      JSON.stringify(body),
    );
  }
  assert.deepEqual(await node.engine.queues(), []);
  assert.equal((await node.call('listTokens', '/api/v1/tokens')).tokens.length, before);
});

test('A46: who floods is told when to come back, others are served, and what spawns itself comes to an end', async (t) => {
  const { node } = await target(t, { bounds: { rate: 5, queued: 60, queuedInAll: 100 } });
  const flooder = (await node.token('operator')).token;
  const other = (await node.call('createToken', '/api/v1/tokens', { body: { name: 'other', role: 'operator' } })).token;
  const push = (token: string, count: number, queue = 'q') =>
    node.ask('/api/v1/tasks', {
      token,
      body: { tasks: Array.from({ length: count }, () => ({ queue, handler: 'echo' })) },
    });
  assert.equal((await push(flooder, 49)).status, 201);
  assert.equal((await push(flooder, 4)).status, 201, 'a batch may go over, once');
  const refused = await push(flooder, 1);
  assert.equal(codeOf(refused), '429 TOO_MANY');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await push(other, 1)).status, 201);
  assert.equal(codeOf(await push(other, 10)), '429 TOO_MANY', 'the queue is full');
  assert.match((await push(other, 10)).body.error.message, /queue q takes no more than 60/);
  assert.equal((await push(other, 40, 'r')).status, 201);
  assert.match((await push(other, 9, 's')).body.error.message, /all queues together take no more than 100/);
  assert.equal(
    (await node.engine.queues()).reduce((sum, { stats }) => sum + stats.ready, 0),
    94,
  );

  const free = await target(t, { bounds: { rate: 0 } });
  const { worker } = await hire(free.node, 'bomb');
  await free.node.engine.push({ queue: 'q', handler: 'echo' });
  let depth = 0;
  for (;;) {
    const lease = proofOf(await worker.claimOne());
    const said = await worker.ask('task_turn', { lease, ...bearing('echo', 'child') });
    await worker.told('task_complete', { lease });
    if (said.type === 'refused') {
      assert.match(String(said.error?.message), /33 spawns deep/);
      break;
    }
    depth++;
  }
  assert.equal(depth, 32);
  const slow = await target(t, { bounds: { rate: 2 } });
  const fan = await hire(slow.node, 'fan');
  await slow.node.engine.push({ queue: 'q', handler: 'echo' });
  const lease = proofOf(await fan.worker.claimOne());
  const answers = [];
  for (let n = 0; n < 40; n++) {
    answers.push(await fan.worker.ask('task_turn', { lease, ...bearing('other', `child ${n}`) }));
  }
  assert.ok(
    answers.some(({ error }) => error?.code === 'TOO_MANY'),
    'a worker that fans out is held back as well',
  );
});

test('A61: a queue is purged only by who says how many tasks that may be, after a look if they like, and it is told who did it', async (t) => {
  const { node, log } = await target(t);
  const operator = (await node.token('operator')).token;
  await node.engine.pushMany(Array.from({ length: 30 }, () => ({ queue: 'q', handler: 'h' })));
  await node.engine.push({ queue: 'q', handler: 'h', delay: '1h' });
  const purge = (body: object) => node.ask('/api/v1/queues/q/purge', { token: operator, body });
  assert.deepEqual((await purge({ dryRun: true })).body, {
    queue: 'q',
    found: 31,
    dryRun: true,
    cancelled: 0,
    asked: 0,
  });
  assert.equal(codeOf(await purge({})), '400 INVALID_INPUT', 'not by mistake');
  assert.equal(codeOf(await purge({ expected: 30 })), '409 CONFLICT', 'there are more by now');
  assert.equal(codeOf(await purge({ expected: -1 })), '400 INVALID_INPUT');
  assert.equal((await node.engine.stats('q'))?.ready, 30);
  assert.equal(
    (await node.ask('/api/v1/queues/q/purge', { body: { expected: 31 }, headers: { origin: 'https://evil.example' } }))
      .status,
    403,
  );
  assert.deepEqual((await purge({ expected: 31 })).body, {
    queue: 'q',
    found: 31,
    dryRun: false,
    cancelled: 31,
    asked: 0,
  });
  assert.equal(codeOf(await node.ask('/api/v1/queues/none/purge', { body: { expected: 9 } })), '404 NOT_FOUND');
  const told = log
    .filter(({ fields }) => fields['action'] === 'purgeQueue')
    .map(({ fields }) => ['by', 'role', 'target', 'outcome'].map((name) => fields[name]).join(' '));
  assert.deepEqual(
    told.filter((deed) => deed.startsWith('a operator')),
    ['400', '409', '400', '200'].map((status) => `a operator operator q ${status}`),
  );

  const { id } = await node.engine.push({ queue: 'q', handler: 'h' });
  const look = await node.call('cancelTask', `/api/v1/tasks/${id}/cancel`, { body: { tree: true, dryRun: true } });
  assert.equal(look.counts.cancelled, 1);
  assert.equal((await node.engine.stats('q'))?.ready, 1, 'a look changes nothing');
});

test('A61: the command asks for the name of the queue, or for --yes, and counts with --dry-run', async (t) => {
  const here = place(t);
  await here.call(['push', 'q', '{}', '--count', '3']);
  const blind = await here.call(['queues', 'purge', 'q']);
  assert.equal(blind.code, 2);
  assert.match(blind.stderr, /Cancel 3 ready and 0 scheduled tasks of q\?/);
  const dry = await here.call(['queues', 'purge', 'q', '--dry-run', '--json']);
  assert.deepEqual(dry.objects(), [{ queue: 'q', cancelled: 3, dryRun: true }]);
  assert.match((await here.call(['queues', 'list', '--json'])).stdout, /"ready":3/);
  assert.equal((await here.call(['queues', 'purge', 'q', '--yes'])).code, 0);
});

test('A61: what was done over the network stands in the output of the node', async (t) => {
  const cwd = temporaryFolder(t);
  const token = 'an-admin-token-of-a-test';
  const node = run(t, ['up', '--port', '0', '--no-worker', '--json'], { cwd, env: { LEASEHOLD_TOKEN: token } });
  const address = await node.address();
  const response = await fetch(`${address}/api/v1/queues/papers/pause`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200);
  const [line] = await node.says(/^.*"audit".*$/m);
  const { event, message, fields } = JSON.parse(line) as {
    event: string;
    message: string;
    fields: Record<string, unknown>;
  };
  assert.deepEqual([event, message], ['told', 'audit']);
  assert.deepEqual(
    [fields['action'], fields['by'], fields['role'], fields['target'], fields['outcome'], fields['request']],
    ['pauseQueue', 'admin', 'admin', 'papers', 200, response.headers.get('x-request-id')],
  );
});

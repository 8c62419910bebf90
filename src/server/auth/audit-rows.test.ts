import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { AuditRecorder } from '../../operate/audit/recorder.ts';

async function listed(node: NodeScene, query = ''): Promise<readonly Wire[]> {
  return (await node.call('listAudit', `/api/v1/audit?${query}`)).entries;
}

/** A refusal is written beside its answer: the entry may come a moment later. */
async function until(node: NodeScene, query: string, count: number): Promise<readonly Wire[]> {
  for (;;) {
    const entries = await listed(node, query);
    if (entries.length >= count) return entries;
    await new Promise(setImmediate);
  }
}

async function scene(t: TestContext): Promise<{ node: NodeScene; operator: string }> {
  const node = await nodeScene(t);
  const { token } = await node.token('operator');
  return { node, operator: token };
}

test('an action is told with who, what, whom, from where, how it ended, and what it was and became', async (t) => {
  const { node, operator } = await scene(t);
  await node.engine.limits.set('papers', { concurrent: 1 });
  const headers = { 'x-leasehold-by': 'anna' };
  const answer = await node.ask('/api/v1/limits/papers', {
    token: operator,
    method: 'PATCH',
    headers,
    body: { concurrent: 5 },
  });
  assert.equal(answer.status, 200);
  const [entry] = await listed(node, 'target=papers');
  const { id, at, endedAt, token, request, address, ...rest } = entry;
  assert.ok(id > 0 && endedAt >= at && token > 0);
  assert.deepEqual([request, address], [answer.headers.get('x-request-id'), '127.0.0.1']);
  assert.deepEqual(rest, {
    actor: 'a operator',
    role: 'operator',
    by: 'anna (a operator)',
    action: 'editLimit',
    target: 'papers',
    face: 'http',
    outcome: 'done',
    status: 200,
    before: { concurrent: 1, strategy: 'queue', revision: 1 },
    after: { concurrent: 5, strategy: 'queue', revision: 2 },
  });
});

test('the policy of upgrades has no name, and is told as it was and became', async (t) => {
  const { node } = await scene(t);
  const path = '/api/v1/upgrade';
  await node.ask(path, { method: 'PATCH', body: { target: '1.0.0', pin: ['box'] } });
  await node.ask(path, { method: 'PATCH', body: { target: '1.1.0', canary: 10 } });
  const entries = await listed(node, 'action=editUpgrade');
  const policy = { target: '1.0.0', canary: 100, pinned: ['box'], refused: [] };
  assert.deepEqual(
    entries.map(({ before, after }) => [before, after]),
    [
      [policy, { ...policy, target: '1.1.0', canary: 10 }],
      [{ canary: 100, pinned: [], refused: [] }, policy],
    ],
  );
});

test('a refusal is told with its code: within the action, by the shape, and by the role', async (t) => {
  const { node } = await scene(t);
  const { token: reader } = await node.token('read');
  await node.ask('/api/v1/limits/nothing', { method: 'DELETE' });
  await node.ask('/api/v1/limits', { body: { wrong: 1 } });
  await node.ask('/api/v1/queues/q/pause', { method: 'POST', token: reader });
  const entries = await until(node, 'outcome=refused', 3);
  // A word in its body hides no attempt.
  await node.ask('/api/v1/credentials/db', { method: 'DELETE', token: reader, body: { dryRun: true } });
  await node.ask('/api/v1/credentials/db', { method: 'DELETE', body: { dryRun: true } });
  assert.equal((await until(node, 'action=removeCredential&outcome=refused', 2)).length, 2);
  const said = entries.map(({ actor, action, target, status, code }) =>
    [actor, action, target, status, code].join(' '),
  );
  assert.deepEqual(said.toSorted(), [
    'a read pauseQueue q 403 FORBIDDEN',
    'admin createLimit  400 INVALID_INPUT',
    'admin removeLimit nothing 404 NOT_FOUND',
  ]);
});

test('a flood of strangers leaves some entries and is counted, and what they look at leaves none', async (t) => {
  const { node } = await scene(t);
  for (let i = 0; i < 100; i++) await node.ask('/api/v1/tokens/1', { method: 'DELETE', token: null });
  await node.ask('/api/v1/tokens', { token: null });
  const entries = await until(node, 'actor=nobody&limit=200', 60);
  assert.equal(entries.length, 60);
  assert.deepEqual([entries[0].role, entries[0].code, entries[0].action], ['none', 'UNAUTHENTICATED', 'revokeToken']);
  const figures = String((await node.ask('/metrics')).body);
  assert.match(figures, /^leasehold_audit_skipped_total 40$/m);
  assert.match(figures, /^leasehold_audit_write_failures_total 0$/m);
});

test('A61: a purge by mistake needs the number that a dry run tells, and leaves an entry with counts', async (t) => {
  const { node, operator: token } = await scene(t);
  await node.engine.pushMany(Array.from({ length: 3 }, () => ({ queue: 'q', handler: 'h' })));
  const purge = (body: object) => node.ask('/api/v1/queues/q/purge', { token, body });
  assert.equal((await purge({})).status, 400);
  const { body: look } = await purge({ dryRun: true });
  assert.deepEqual([look.found, look.cancelled], [3, 0]);
  assert.equal((await purge({ expected: 2 })).body.error.code, 'CONFLICT');
  assert.equal((await purge({ expected: look.found })).body.cancelled, 3);
  const entries = await listed(node, 'action=purgeQueue');
  assert.deepEqual(
    entries.map(({ outcome, code, before, after }) => [outcome, code, before.ready, after?.ready, after?.answer]),
    [
      ['done', undefined, 3, 0, { found: 3, cancelled: 3, asked: 0 }],
      ['refused', 'CONFLICT', 3, undefined, undefined],
      ['refused', 'INVALID_INPUT', 3, undefined, undefined],
    ],
  );
});

test('A61: to cancel all of a tree is looked at first, and told', async (t) => {
  const { node, operator: token } = await scene(t);
  const { id } = await node.engine.push({ queue: 'q', handler: 'h' });
  const cancel = (body: object) => node.ask(`/api/v1/tasks/${id}/cancel`, { token, body });
  assert.equal((await cancel({ tree: true, dryRun: true })).body.dryRun, true);
  assert.deepEqual(await listed(node, 'action=cancelTask'), []);
  assert.equal((await cancel({ tree: true })).status, 200);
  const [entry] = await listed(node, `target=${id}`);
  assert.deepEqual([entry.before.state, entry.after.state, entry.after.asked], ['ready', 'cancelled', { tree: true }]);
});

test('A6: rotations of a token, of a worker and of a webhook are told, and no secret is', async (t) => {
  const { node } = await scene(t);
  const { id, token } = await node.token('read');
  const rotated = await node.call('rotateToken', `/api/v1/tokens/${id}/rotate`, { body: { grace: '1h' } });
  const worker = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const other = await node.call('rotateWorker', '/api/v1/workers/box/rotate', { body: {} });
  const hook = await node.call('putTrigger', '/api/v1/triggers', {
    body: { name: 'hook', kind: 'webhook', push: { queue: 'q' } },
  });
  const next = await node.call('rotateTrigger', '/api/v1/triggers/hook/rotate', { body: {} });
  const entries = await listed(node);
  const told = new Set(entries.map(({ action, outcome }) => `${action} ${outcome}`));
  for (const action of ['rotateToken', 'rotateWorker', 'rotateTrigger', 'createWorker', 'putTrigger']) {
    assert.ok(told.has(`${action} done`), action);
  }
  const [of] = await listed(node, 'action=rotateToken');
  assert.deepEqual([of.target, of.after.answer.id, of.after.asked.grace], [String(id), rotated.id, '1h']);
  assert.equal(typeof of.before.role, 'string');
  const text = JSON.stringify(entries);
  const secrets = [token, rotated.token, worker.secret, other.secret, hook.newSecret, next.newSecret];
  for (const secret of secrets) {
    assert.equal(typeof secret, 'string');
    assert.ok(!text.includes(secret));
  }
});

test('a login and an enrolment are told under the name that they got, and their codes are not', async (t) => {
  const { node } = await scene(t);
  const { url } = await node.call('createLogin', '/api/v1/logins', { body: {} });
  const code = new URL(url).hash.replace(/^#(code=)?/, '');
  const login = await node.ask('/ui/login', { token: null, body: { code } });
  const made = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', code: true } });
  const enrolled = await node.call('enrolWorker', '/api/v1/workers/enrol', { token: null, body: { code: made.code } });
  const entries = await listed(node);
  const said = entries.map(({ actor, action, outcome, target }) => [actor, action, target, outcome].join(' '));
  assert.ok(said.includes('box enrolWorker box done'), said.join());
  if (login.status === 200) assert.ok(said.some((one) => one.startsWith('admin login ')));
  for (const secret of [code, made.code, enrolled.secret]) assert.ok(!JSON.stringify(entries).includes(secret));
});

test('only an admin reads who did what, page by page', async (t) => {
  const { node, operator } = await scene(t);
  const { token: reader } = await node.token('read');
  for (const token of [operator, reader]) assert.equal((await node.ask('/api/v1/audit', { token })).status, 403);
  assert.equal((await node.ask('/api/v1/audit', { token: null })).status, 401);
  for (let i = 0; i < 3; i++) await node.ask(`/api/v1/queues/q${i}/pause`, { method: 'POST' });
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await node.call('listAudit', `/api/v1/audit?limit=2&action=pauseQueue${cursor}`);
    seen.push(...page.entries.map(({ target }: Wire) => target));
    if (page.cursor === undefined) break;
    cursor = `&cursor=${page.cursor}`;
  }
  assert.deepEqual(seen, ['q2', 'q1', 'q0']);
  for (const query of ['cursor=x', 'face=post', 'since=yesterday', 'limit=0']) {
    assert.equal((await node.ask(`/api/v1/audit?${query}`)).status, 400, query);
  }
});

test('an action whose entry cannot begin does not take effect, and one whose entry cannot end is told so', async (t) => {
  const { engine } = await nodeScene(t);
  const errors: string[] = [];
  const log = { info: () => {}, warn: () => {}, error: (message: string) => void errors.push(message) };
  const act = { action: 'pauseQueue', target: 'q', actor: { name: 'anna', role: 'admin', face: 'http' } } as const;
  const broken = (verb: 'add' | 'end'): AuditRecorder => {
    const audit = { add: engine.audit.add.bind(engine.audit), end: engine.audit.end.bind(engine.audit) };
    const failing = { ...audit, [verb]: () => Promise.reject(new Error('disk full')) };
    return new AuditRecorder(Object.create(engine, { audit: { value: failing } }), log);
  };
  let done = 0;
  const work = async (): Promise<number> => ++done;
  await assert.rejects(broken('add').around(act, work), /disk full/);
  assert.equal(done, 0);
  const recorder = broken('end');
  assert.equal(await recorder.around(act, work), 1);
  assert.deepEqual([errors, recorder.figures.failures], [['the audit could not be written'], 1]);
  assert.equal((await engine.audit.list())[0]?.outcome, 'began');
});

const CANARY = 'canary-3f9c2b71';

test('no secret, input, code or value that a body carries gets into an entry', async (t) => {
  const { node } = await scene(t);
  const { admin } = node;
  const { task, id } = await node.engine.push({ queue: 'q', handler: 'h', input: { secret: CANARY } });
  assert.ok(task > 0);
  const text = JSON.stringify({ name: 'flow', nodes: [{ id: 'a', type: 'x', data: { code: CANARY } }] });
  const bodies: readonly (readonly [string, string, object?])[] = [
    ['POST', '/api/v1/schedules', { name: 's', cron: '0 3 * * *', queue: 'q', input: { password: CANARY } }],
    ['POST', '/api/v1/triggers', { name: 't', kind: 'manual', push: { queue: 'q' }, input: { key: CANARY } }],
    ['POST', '/api/v1/triggers', { name: 'w', kind: 'webhook', push: { queue: 'q' }, secret: { value: CANARY } }],
    ['POST', '/api/v1/triggers/t/fire', { input: { key: CANARY } }],
    ['POST', '/api/v1/workflows', { name: 'flow', workflow: text }],
    ['POST', '/api/v1/pools', { name: 'p', launcher: { kind: 'process', env: { KEY: CANARY }, args: [CANARY] } }],
    ['POST', '/api/v1/views', { name: 'v', screen: 'tasks', query: `q=${CANARY}` }],
    ['POST', '/api/v1/workers/enrol', { code: CANARY }],
    ['POST', '/ui/login', { code: CANARY }],
    ['POST', '/ui/login', { token: CANARY }],
    ['POST', `/api/v1/approvals/${id}`, { action: 'approve', value: { key: CANARY } }],
    ['POST', `/api/v1/runs/${id}/cancel`, { reason: CANARY }],
    ['POST', `/api/v1/tasks/${id}/cancel`, {}],
    ['POST', '/api/v1/limits', { name: 'l', concurrent: 1, [CANARY]: 1 }],
    ['DELETE', '/api/v1/schedules/s'],
    ['DELETE', '/api/v1/triggers/t'],
    ['DELETE', '/api/v1/views/v'],
  ];
  for (const [method, path, body] of bodies) await node.ask(path, { method, ...(body && { body }) });
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tasks.update', params: { task_id: id, inputs: { key: CANARY } } };
  await node.ask('/rpc', { body: rpc });
  // Entries of refusals come beside their answers: the last of them is the last to be written.
  await node.ask('/api/v1/limits/last', { method: 'DELETE' });
  await until(node, 'target=last', 1);
  const rows = await node.engine.store.auditList({ limit: 500 });
  assert.ok(rows.length >= bodies.length - 3, String(rows.length));
  const kept = JSON.stringify(rows);
  assert.ok(!kept.includes(CANARY), kept.slice(Math.max(0, kept.indexOf(CANARY) - 200), kept.indexOf(CANARY) + 40));
  assert.ok(!kept.includes(admin));
});

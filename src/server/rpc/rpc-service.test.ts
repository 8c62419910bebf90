import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rpcScene } from '../../../test/support/rpc-scene.ts';
import { scaled } from '../../../test/support/scale.ts';
import { METHODS } from '../../protocol/rpc/methods.ts';

const HEALTH = { jsonrpc: '2.0', method: 'system.health' };

test('a call is answered under its id at each of the four addresses', async (t) => {
  const it = await rpcScene(t);
  for (const path of ['/', '/rpc', '/tasks', '/system']) {
    for (const id of ['a', 0, 1.5, null]) {
      const { status, body, headers } = await it.send({ ...HEALTH, id }, { path });
      assert.equal(status, 200);
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
      assert.deepEqual(body, { jsonrpc: '2.0', id, result: { status: 'healthy', reasons: [], version: '0.0.0-test' } });
    }
  }
});

test('a notification is done and not answered, alone or in a batch', async (t) => {
  const it = await rpcScene(t);
  const note = (id: string) => ({ jsonrpc: '2.0', method: 'tasks.create', params: { id, name: 'echo' } });
  assert.deepEqual(await it.send(note('one')).then(({ status, body }) => [status, body]), [204, '']);
  assert.equal((await it.send([note('two'), note('three')])).status, 204);
  const mixed = await it.send([note('four'), { ...HEALTH, id: 7 }]);
  assert.deepEqual(
    mixed.body.map(({ id }: { id: number }) => id),
    [7],
  );
  assert.equal((await it.send({ jsonrpc: '2.0', method: 'nothing.like.it' })).status, 204, 'whatever becomes of it');
  assert.equal((await it.call('tasks.count')).total, 4);
});

test('calls of a batch are answered in order, and one that is wrong spoils no other', async (t) => {
  const it = await rpcScene(t);
  const { status, body } = await it.send([
    { jsonrpc: '2.0', id: 1, method: 'tasks.create', params: { id: 'r', name: 'echo' } },
    'nonsense',
    { jsonrpc: '2.0', id: 2, method: 'no.such' },
    { jsonrpc: '2.0', id: 3, method: 'tasks.get', params: { task_id: 'x' } },
    { jsonrpc: '2.0', id: 4, method: 'tasks.get', params: { task_id: 'r' } },
  ]);
  assert.equal(status, 200);
  const said = body.map((one: { id: unknown; error?: { code: number }; result?: { id: string } }) => [
    one.id,
    one.error?.code ?? one.result?.id,
  ]);
  assert.deepEqual(said, [
    [1, 'r'],
    [null, -32600],
    [2, -32601],
    [3, -32001],
    [4, 'r'],
  ]);
});

test('an empty batch, or one of more than fifty, is refused as a whole', async (t) => {
  const it = await rpcScene(t);
  const create = (n: number) => ({ jsonrpc: '2.0', id: n, method: 'tasks.create', params: { name: 'echo' } });
  for (const batch of [[], Array.from({ length: 51 }, (_, n) => create(n))]) {
    const { status, body } = await it.send(batch);
    assert.deepEqual([status, body.id, body.error.code], [200, null, -32600]);
  }
  assert.equal((await it.call('tasks.count')).total, 0);
  assert.equal((await it.send(Array.from({ length: 50 }, (_, n) => create(n)))).body.length, 50);
});

test('what is no JSON, too deep, too large or of another type is refused before it is a call', async (t) => {
  const it = await rpcScene(t);
  const code = async (body: string): Promise<readonly unknown[]> => {
    const answer = await it.send(body);
    return [answer.status, answer.body.id, answer.body.error.code];
  };
  assert.deepEqual(await code('{"jsonrpc": '), [400, null, -32700]);
  const deep = `{"jsonrpc":"2.0","id":1,"method":"tasks.create","params":{"name":"x","inputs":{"a":${'['.repeat(9000)}${']'.repeat(9000)}}}}`;
  assert.deepEqual(await code(deep), [400, null, -32700]);
  assert.deepEqual(await code(JSON.stringify('x'.repeat(17 * 1024 * 1024))), [413, null, -32600]);
  const plain = await it.node.ask('/rpc', { body: '{}', headers: { 'content-type': 'text/plain' } });
  assert.deepEqual([plain.status, plain.body.error.code], [400, -32600]);
  const query = await it.node.ask('/rpc?x=1', { body: { ...HEALTH, id: 1 } });
  assert.deepEqual([query.status, query.body.error.code], [400, -32600]);
});

test('without a token, or with one of another role, nothing is done', async (t) => {
  const it = await rpcScene(t);
  const create = { jsonrpc: '2.0', id: 1, method: 'tasks.create', params: { name: 'echo' } };
  for (const token of [null, 'wrong']) {
    for (const path of ['/', '/rpc', '/tasks', '/system']) {
      const { status, body } = await it.send(create, { token, path });
      assert.deepEqual([status, body.error.code, body.error.data.code], [401, -32004, 'UNAUTHENTICATED']);
    }
  }
  const { token: read } = await it.node.token('read');
  const secret = await it.secret('box');
  for (const token of [read, secret]) {
    const { status, body } = await it.send(create, { token });
    assert.deepEqual([status, body.id, body.error.code, body.error.data.code], [403, 1, -32004, 'FORBIDDEN']);
  }
  assert.equal(await it.refusal('register_node', { node_id: 'n', executor_types: ['x'] }, { token: read }), -32004);
  assert.equal(await it.refusal('recover_stale_leases', {}, { token: secret }), -32004);
  const batch = await it.send([create, { ...HEALTH, id: 2 }], { token: read });
  assert.equal(batch.status, 200, 'the others are answered');
  assert.deepEqual([batch.body[0].error.code, batch.body[1].result.status], [-32004, 'healthy']);
  assert.equal((await it.call('tasks.count')).total, 0);
});

test('each method refuses params that it does not know, and none that are missing', async (t) => {
  const it = await rpcScene(t);
  for (const method of Object.keys(METHODS)) {
    const code = await it.refusal(method, { no_such_param: 1 });
    assert.ok(code === -32602 || code === -32005, `${method}: ${code}`);
    if (method !== 'tasks.create') assert.equal(await it.refusal(method, [1]), -32602, method);
  }
  const { error } = await it.ask('acquire_lease', { node_id: 7, task_id: 'x' });
  assert.match(error.message, /^Invalid params: params\.node_id: /);
});

test('an error that nobody foresaw says nothing of itself, and is in the log', async (t) => {
  const logged: unknown[] = [];
  const log = { info: () => {}, warn: () => {}, error: (_: string, fields?: object) => void logged.push(fields) };
  const it = await rpcScene(t, { log });
  t.mock.method(it.engine.store, 'documentCount', () => Promise.reject(new Error('SELECT * FROM secret')));
  const { error } = await it.ask('tasks.count');
  assert.equal(error.code, -32603);
  assert.doesNotMatch(JSON.stringify(error), /secret|SELECT/);
  assert.match(JSON.stringify(logged), /SELECT \* FROM secret/);
});

test('an answer that would be too long says so instead', async (t) => {
  const it = await rpcScene(t);
  const inputs = { text: 'x'.repeat(1_000_000) };
  for (let n = 0; n < 18; n++) await it.call('tasks.create', { name: 'echo', inputs });
  const body = (
    await it.send([
      { jsonrpc: '2.0', id: 1, method: 'tasks.list' },
      { ...HEALTH, id: 2 },
    ])
  ).body;
  assert.equal(body[0].error.data.code, 'TOO_LARGE');
  assert.equal(body[1].result.status, 'healthy');
  assert.equal((await it.call('tasks.list', { limit: 5 })).length, 5);
  const many = Array.from({ length: 4 }, (_, n) => ({
    jsonrpc: '2.0',
    id: n,
    method: 'tasks.list',
    params: { limit: 5 },
  }));
  const answers = (await it.send(many)).body as { result?: unknown[] }[];
  assert.deepEqual(
    answers.map(({ result }) => result?.length),
    [5, 5, 5, undefined],
    'all of a batch together have one bound',
  );
});

test('nonsense in the params of any method is refused or done, and nothing breaks', async (t) => {
  const complaints: unknown[] = [];
  const note = (...said: unknown[]): void => void complaints.push(said);
  const log = { info: () => {}, warn: note, error: note };
  const it = await rpcScene(t, { log, rpcAllowance: { burst: 1e9, perSecond: 1e9 } });
  await it.call('tasks.create', [
    { id: 'r', name: 'echo' },
    { id: 'a', name: 'echo', parent_id: 'r' },
  ]);
  await it.register('n');
  const NAMES = [
    ...'task_id id node_id executor_types capabilities leases lease_token result error idempotency_key limit tasks name'.split(
      ' ',
    ),
    ...'parent_id dependencies required inputs params schemas method user_id placement_constraints status origin_type'.split(
      ' ',
    ),
    ...'version task_ids requires_capabilities allowed_nodes priority __proto__ constructor'.split(' '),
  ];
  const name = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...NAMES) },
    fc.string({ unit: 'binary', maxLength: 9 }),
  );
  const leaf = fc.oneof(
    fc.constantFrom(null, true, false, 0, 1, -1, 2 ** 53, 0.1, '', 'r', 'a', 'n', 'echo', 'task_x', '1.1.x.n'),
    fc.constantFrom('\u0000', '\ud800', 'copy', 'pending', "'; DROP TABLE task; --", 'x'.repeat(300)),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('json'), { maxLength: 4 }),
      fc.dictionary(name, tie('json'), { maxKeys: 6 }),
    ),
  }));
  const nearly = fc.constantFrom(
    { task_id: 'r' },
    { node_id: 'n' },
    { node_id: 'n', task_id: 'a' },
    { name: 'echo' },
    {},
  );
  const params: fc.Arbitrary<unknown> = fc.oneof(
    fc.tuple(nearly, fc.dictionary(name, json, { maxKeys: 5 })).map(([good, more]) => ({ ...more, ...good })),
    fc.array(json, { maxLength: 3 }),
  );
  const method = fc.constantFrom(...Object.keys(METHODS));
  await fc.assert(
    fc.asyncProperty(method, params, async (asked, given) => {
      const { status, body } = await it.send({ jsonrpc: '2.0', id: 1, method: asked, params: given });
      assert.ok(status === 200 || status === 400, `${asked}: ${status}`);
      assert.notEqual(body.error?.code, -32603, `${asked} ${JSON.stringify(given)}: ${JSON.stringify(body)}`);
    }),
    { numRuns: scaled(600, 20_000), examples: [['tasks.update', { task_ids: null }]] },
  );
  assert.deepEqual(complaints, []);
});

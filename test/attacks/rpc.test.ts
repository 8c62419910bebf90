/** A63: much asked for with little, by calls in batches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wire } from '../support/node-scene.ts';
import { type RpcScene, rpcScene } from '../support/rpc-scene.ts';

const ALLOWANCE = { burst: 100, perSecond: 20 };

const create = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'tasks.create', params: { name: 'echo' } });

async function written(it: RpcScene): Promise<number> {
  const { fresh } = await it.engine.documents.count({ roots: false });
  return fresh;
}

/** What the allowance gives back meanwhile, by the clock that it goes by. */
function meter(it: RpcScene): () => number {
  const { clock } = it.engine.world;
  const since = clock.monotonic();
  return () => Math.ceil(((clock.monotonic() - since) / 1000) * ALLOWANCE.perSecond);
}

test('A63: a batch of more than fifty calls is refused as a whole, whatever is in it', async (t) => {
  const it = await rpcScene(t);
  for (const size of [51, 1000, 28_000]) {
    const { status, body } = await it.send(Array.from({ length: size }, (_, n) => create(n)));
    assert.deepEqual([status, body.error.code], [200, -32600], `${size} calls`);
  }
  // More keys and objects than any body may have: nothing is made of it at all.
  const { status, body: huge } = await it.send(Array.from({ length: 100_000 }, (_, n) => create(n)));
  assert.deepEqual([status, huge.error.code], [400, -32700]);
  const nested = Array.from({ length: 50 }, () => Array.from({ length: 50 }, (_, n) => create(n)));
  const { body } = await it.send(nested);
  assert.ok(
    body.every(({ error }: Wire) => error.code === -32600),
    'a batch in a batch is no call',
  );
  assert.equal(await written(it), 0);
});

test('A63: batches get no more done than single calls: they share one budget', async (t) => {
  const it = await rpcScene(t, { rpcAllowance: ALLOWANCE });
  const more = meter(it);
  const batches = await Promise.all(
    [...Array(20)].map((_, b) => it.send(Array.from({ length: 50 }, (_, n) => create(`${b}.${n}`)))),
  );
  const answers: readonly Wire[] = batches.flatMap(({ body }) => body);
  assert.equal(answers.length, 1000, 'each call has its answer');
  const done = answers.filter(({ result }) => result !== undefined).length;
  // Each costs one as a call, and one as a task that is written down.
  assert.ok(done <= (ALLOWANCE.burst + more()) / 2, `${done} of 1000 were done`);
  assert.ok(done >= ALLOWANCE.burst / 4, `${done} were done`);
  assert.equal(await written(it), done, 'what was refused left nothing behind');
  const refused = answers.filter(({ error }) => error !== undefined);
  assert.ok(refused.every(({ error }) => error.data.code === 'OVERLOADED' && error.data.retryable === true));
  const single = await it.ask('system.health');
  if (single.error !== undefined) assert.equal(single.error.data.code, 'OVERLOADED', 'nothing but the budget');
});

test('A63: who has spent its budget keeps nobody else from being served', async (t) => {
  const it = await rpcScene(t, { rpcAllowance: ALLOWANCE });
  const { token } = await it.node.token('operator');
  const flood = (): Promise<unknown> =>
    Promise.all(
      [...Array(10)].map(() =>
        it.send(
          Array.from({ length: 50 }, (_, n) => create(n)),
          { token },
        ),
      ),
    );
  await flood();
  const [health] = await Promise.all([it.ask('system.health'), flood()]);
  assert.equal(health.result.status, 'healthy');
  assert.equal((await it.node.ask('/healthz', { token: null })).status, 200);
});

test('A63: notifications, unknown methods and bad params cost what calls cost', async (t) => {
  const it = await rpcScene(t, { rpcAllowance: { burst: 60, perSecond: 0.001 } });
  const cheap = [
    { jsonrpc: '2.0', method: 'no.such.method' },
    { jsonrpc: '2.0', method: 'tasks.get', params: { nonsense: true } },
  ];
  await it.send(Array.from({ length: 50 }, (_, n) => cheap[n % 2]));
  const { body } = await it.send(Array.from({ length: 50 }, (_, n) => ({ ...cheap[n % 2], id: n })));
  assert.equal(body.filter(({ error }: Wire) => error.data.code === 'OVERLOADED').length, 40);
});

test('A63: one call that writes many tasks down costs as many, and a tree costs again when it is executed', async (t) => {
  const it = await rpcScene(t, { rpcAllowance: { burst: 100, perSecond: 0.001 } });
  const tree = (root: string, size: number) =>
    Array.from({ length: size }, (_, n) => ({
      id: n === 0 ? root : `${root}-${n}`,
      name: 'echo',
      ...(n === 0 ? {} : { parent_id: root }),
    }));
  await it.call('tasks.create', tree('r', 40));
  const first = await it.ask('tasks.execute', { task_id: 'r' });
  assert.equal(first.result?.status, 'started', 'what is left of the budget');
  const { error } = await it.ask('tasks.create', tree('s', 40));
  assert.equal(error.data.code, 'OVERLOADED');
  assert.equal((await it.engine.documents.count({ roots: false })).fresh, 0);
  assert.equal(await it.engine.documents.find('s'), undefined);
});

test('A63: the answers of a batch have one bound together, so that a short request has no endless answer', async (t) => {
  const it = await rpcScene(t);
  const inputs = { text: 'x'.repeat(900_000) };
  for (let n = 0; n < 6; n++) await it.call('tasks.create', { name: 'echo', inputs });
  const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tasks.list' });
  const response = await fetch(it.node.url('/rpc'), {
    method: 'POST',
    headers: it.node.headers({ body: [] }),
    body: JSON.stringify(Array.from({ length: 50 }, (_, n) => list(n))),
  });
  const text = await response.text();
  assert.ok(text.length < 17 * 1024 * 1024, `${text.length} characters`);
  const answers = JSON.parse(text) as readonly Wire[];
  assert.equal(answers.length, 50);
  assert.ok(answers.some(({ result }) => result !== undefined));
  assert.ok(answers.some(({ error }) => error?.data.code === 'TOO_LARGE'));
});

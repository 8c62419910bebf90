import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { RawWorker } from '../../../test/support/raw-worker.ts';
import { isWrite, type Route } from '../../protocol/route.ts';
import { ROUTES } from '../../protocol/routes.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const FOLDER = tempFolder('cluster-routes');
let stores = 0;
const aStore = (): string => `sqlite:${join(FOLDER, `${++stores}.db`)}`;

const CLUSTER = {
  role: 'auto',
  leaderLeaseMs: 30_000,
  leaderRenewMs: 10_000,
  silence: { staleMs: 30_000, deadMs: 120_000 },
} as const;

const node = (t: TestContext, store: string, id: string, role: 'auto' | 'observer' = 'auto'): Promise<NodeScene> =>
  nodeScene(t, { store, cluster: { id, ...CLUSTER, role } });

/** Repeats until it holds: a node reads the role that is asked of it once a second. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 30_000; !(await isSo()); ) {
    assert.ok(performance.now() < deadline, 'it does not become so');
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
}

const roleOf = async (scene: NodeScene, id: string): Promise<string> => {
  const { nodes } = await scene.call('getCluster', '/api/v1/cluster');
  return nodes.find((one: { id: string }) => one.id === id)?.role;
};

test('every node tells of all of them, of the leader and of the duties', async (t) => {
  const store = aStore();
  const [one, two] = [await node(t, store, 'n1'), await node(t, store, 'n2')];
  await until(async () => {
    const { duties } = await one.call('getCluster', '/api/v1/cluster');
    return duties.length === 7 && duties.every(({ holder }: { holder?: string }) => holder === 'n1');
  });
  for (const scene of [one, two]) {
    const told = await scene.call('getCluster', '/api/v1/cluster');
    const { node: leader, epoch, since, expiresInMs } = told.leader;
    assert.deepEqual([leader, epoch], ['n1', 1]);
    assert.ok(Math.abs(Date.now() - since) < 60_000 && expiresInMs > 0 && expiresInMs <= 30_000);
    assert.deepEqual(
      told.nodes.map(({ id, state, role, wish, override, address, pid }: Record<string, unknown>) => {
        return { id, state, role, wish, override, address, pid };
      }),
      [
        { id: 'n1', role: 'leader', address: one.service.address },
        { id: 'n2', role: 'worker', address: two.service.address },
      ].map((some) => ({ ...some, state: 'healthy', wish: 'auto', override: 'auto', pid: process.pid })),
    );
    assert.equal(told.store, 'sqlite');
  }
});

test('a node that is in no cluster tells of it too, and has no leader', async (t) => {
  const scene = await nodeScene(t);
  const told = await scene.call('getCluster', '/api/v1/cluster');
  assert.deepEqual([told.leader, told.nodes], [undefined, []]);
});

test('an observer answers questions, and refuses every write but the one that gives it another role', async (t) => {
  const store = aStore();
  const scene = await node(t, store, 'watcher', 'observer');
  const writer = await node(t, store, 'writer');
  await writer.call('pushTasks', '/api/v1/tasks', { body: { queue: 'echo' } });
  const { tasks } = await scene.call('listTasks', '/api/v1/tasks');
  assert.equal(tasks.length, 1);
  let refused = 0;
  for (const route of Object.values(ROUTES) as Route[]) {
    const { method, path, access } = route;
    if (!isWrite(route) || access === 'worker') continue;
    const { status, body } = await scene.ask(path.replaceAll(/\{\w+\}/g, '1'), { method, body: {} });
    // JSON-RPC has numbers of its own for errors, and ours beside them; loopd has texts.
    const plain = typeof body.error === 'string' ? { code: body.code, hint: body.error } : body.error;
    const error = plain.data ?? plain;
    assert.deepEqual([status, error.code], [403, 'READ_ONLY'], `${method} ${path}`);
    assert.match(error.hint, /another node.*cluster role/);
    refused++;
  }
  assert.ok(refused > 15);
  // A worker is asked for these by a task.
  for (const path of ['/runs/run_1/diff', '/worktrees?workspace_root=main/shop']) {
    const { status, body } = await scene.ask(path);
    assert.deepEqual([status, body.code], [403, 'READ_ONLY'], path);
  }
  const login = await scene.ask('/ui/login', { body: { token: scene.admin }, token: null });
  assert.equal(login.status, 200, 'whoever wants to look may come in by a browser');
  const secret = (await writer.call('createWorker', '/api/v1/workers', { body: { name: 'w' } })).secret as string;
  const registered = await scene.ask('/workers/register', {
    token: secret,
    body: { hostname: 'h', capabilities: ['echo'] },
  });
  assert.deepEqual([registered.status, registered.body.error.code], [403, 'READ_ONLY']);
  await assert.rejects(RawWorker.dial(scene.service.address), 'no worker comes in');
  const { status, body } = await scene.ask('/readyz');
  assert.deepEqual([status, body.reasons], [503, ['this node is an observer']]);
  assert.equal((await writer.engine.list({ limit: 10 })).length, 1, 'nothing of all that was done');
  assert.equal(await roleOf(scene, 'watcher'), 'observer');
});

test('a leader that is asked to observe sends its workers away, another one leads, and auto takes it back', async (t) => {
  const store = aStore();
  const one = await node(t, store, 'n1');
  const two = await node(t, store, 'n2');
  const { secret } = await one.call('createWorker', '/api/v1/workers', { body: { name: 'w' } });
  const worker = await RawWorker.dial(one.service.address);
  await worker.enter({ name: 'w', secret });
  const shown = await two.call('editNode', '/api/v1/cluster/nodes/n1', { body: { role: 'observer' } });
  assert.deepEqual([shown.id, shown.wish, shown.override], ['n1', 'auto', 'observer']);
  assert.equal((await worker.closed).code, 1012);
  await until(async () => (await roleOf(one, 'n2')) === 'leader');
  assert.equal((await one.ask('/api/v1/tasks', { body: { queue: 'echo' } })).status, 403);
  await one.call('editNode', '/api/v1/cluster/nodes/n1', { body: { role: 'auto' } });
  await until(async () => (await roleOf(two, 'n1')) === 'worker');
  // The role that is shown may be ahead of the node itself, which reads what is asked of it once a second.
  await until(async () => (await one.ask('/api/v1/tasks', { body: { queue: 'echo' } })).status === 201);
  assert.equal((await one.ask('/readyz')).status, 200);
});

test('a node that is not there, and a role that nobody can be asked for, are refused', async (t) => {
  const scene = await node(t, aStore(), 'n1');
  const ask = (id: string, body: object) => scene.ask(`/api/v1/cluster/nodes/${id}`, { method: 'PATCH', body });
  const unknown = await ask('n9', { role: 'worker' });
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'NOT_FOUND']);
  assert.match(unknown.body.error.hint, /There are n1\./);
  assert.equal((await ask('n1', { role: 'king' })).status, 400);
  assert.equal((await ask('n1', { role: 'worker', force: true })).status, 400);
});

test('a node that is asked to lead leads within seconds, under a newer epoch, whatever it was started as', async (t) => {
  const store = aStore();
  const one = await node(t, store, 'n1');
  const two = await node(t, store, 'n2', 'observer');
  const leader = async (): Promise<{ node: string; epoch: number }> =>
    (await one.call('getCluster', '/api/v1/cluster')).leader ?? {};
  const before = await leader();
  assert.equal(before.node, 'n1');
  await one.call('editNode', '/api/v1/cluster/nodes/n2', { body: { role: 'leader' } });
  await until(async () => (await leader()).node === 'n2' && (await roleOf(one, 'n2')) === 'leader');
  assert.ok((await leader()).epoch > before.epoch);
  await until(async () => (await roleOf(two, 'n1')) === 'worker');
  assert.equal((await two.ask('/api/v1/tasks', { body: { queue: 'echo' } })).status, 201, 'it observes no more');
  await one.call('editNode', '/api/v1/cluster/nodes/n1', { body: { role: 'leader' } });
  await until(async () => (await leader()).node === 'n1');
  const { nodes } = await one.call('getCluster', '/api/v1/cluster');
  const overrides = nodes.map(({ id, override }: { id: string; override: string }) => [id, override]);
  assert.deepEqual(
    overrides,
    [
      ['n1', 'leader'],
      ['n2', 'auto'],
    ],
    'one is asked to lead at a time',
  );
});

test('a node that was asked to lead and is gone is not waited for', async (t) => {
  const store = aStore();
  const one = await node(t, store, 'n1');
  const two = await node(t, store, 'n2');
  await one.call('editNode', '/api/v1/cluster/nodes/n2', { body: { role: 'leader' } });
  await until(async () => (await roleOf(one, 'n2')) === 'leader');
  await two.service.close();
  await until(async () => (await roleOf(one, 'n1')) === 'leader');
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRegistrationBackend, DistributedWorkerHooks } from '../../compat/index.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openNode } from '../node.ts';

const folder = tempFolder('places');
let files = 0;

async function rig(t: TestContext, most: number) {
  const file = join(folder, `${++files}.db`);
  const node = await openNode(`sqlite:${file}`, { duties: false, housekeeping: false });
  await node.engine.pools.put('papers', { policy: { max: most } });
  const config = { type: 'sqlite', sqlite_path: file } as const;
  const registry = () => createRegistrationBackend(config, { duties: false });
  const [one, other] = [await registry(), await registry()];
  t.after(async () => {
    await Promise.all([one.close(), other.close()]);
    await node.close();
  });
  const there = async () => (await node.engine.pools.plan('papers')).decision.there;
  return { one, other, there, config, file };
}

test('a pool with a policy takes no more workers than its most, whoever registers them at once', async (t) => {
  const { one, other, there } = await rig(t, 3);
  const registering = Array.from({ length: 12 }, (_, i) =>
    (i % 2 === 0 ? one : other).register({ worker_id: `w${i}`, pool_id: 'papers' }),
  );
  const answers = await Promise.allSettled(registering);
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 3);
  assert.equal(await there(), 3);
  assert.equal(await refusal(one.register({ worker_id: 'late', pool_id: 'papers' })), 'LIMIT_REACHED');
  await one.register({ worker_id: 'late', pool_id: 'elsewhere' });
});

test('a worker that registers again keeps its place, and one that has ended leaves it', async (t) => {
  const { one, other, there } = await rig(t, 1);
  await one.register({ worker_id: 'w', pool_id: 'papers' });
  await other.register({ worker_id: 'w', pool_id: 'papers' });
  assert.equal(await there(), 1);
  assert.equal((await one.get('w'))?.status, 'active');
  assert.equal(await refusal(one.register({ worker_id: 'x', pool_id: 'papers' })), 'LIMIT_REACHED');
  await other.updateStatus('w', 'terminated');
  await one.register({ worker_id: 'x', pool_id: 'papers' });
  assert.equal(await there(), 1);
});

test('a machine that asks for ten workers spawns as many as the pool has room for', async (t) => {
  const { config, there, one } = await rig(t, 2);
  await one.register({ worker_id: 'w', pool_id: 'papers' });
  const hooks = new DistributedWorkerHooks({ backends: config });
  t.after(() => hooks.close());
  const context = { pool_id: 'papers', workers_to_spawn: 10, max_workers: 50 };
  const { spawned_count } = await hooks.onAction('spawn_workers', context);
  assert.equal(spawned_count, 1);
  assert.ok((await there()) <= 2);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Ground, ground, onEachStore } from '../../../test/support/compat-grounds.ts';
import { createRegistrationBackend, createWorkBackend, DistributedWorkerHooks } from '../../compat/index.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const folder = tempFolder('distributed-hooks');

async function rig(t: TestContext, { config, world }: Ground) {
  const options = { world, duties: false };
  const [work, registry] = [
    await createWorkBackend(config, options),
    await createRegistrationBackend(config, options),
  ] as const;
  const hooks = new DistributedWorkerHooks({ work_backend: work, registration_backend: registry, world });
  t.after(() => Promise.all([work.close(), registry.close()]));
  const act = async (action: string, context: object): Promise<Record<string, unknown>> => ({
    ...(await hooks.onAction(action, context)),
  });
  return { work, registry, hooks, act, pool: work.pool('papers') };
}

onEachStore(
  folder,
  'A4: the state of a pool counts its own living workers and what a claim could get',
  async (t, on) => {
    const { registry, act, pool } = await rig(t, on);
    for (const n of [1, 2, 3]) await pool.push(n);
    const pool_id = 'papers';
    for (const worker_id of ['silent', 'w1', 'w2', 'gone', 'lost', 'leaving']) {
      await registry.register({ worker_id, pool_id });
    }
    await registry.register({ worker_id: 'slow', pool_id, heartbeat_interval: 120 });
    await registry.register({ worker_id: 'other', pool_id: 'mails' });
    await on.elapse(61_000);
    for (const worker_id of ['w1', 'w2', 'gone', 'lost', 'leaving', 'other']) await registry.heartbeat(worker_id);
    await registry.updateStatus('w2', 'page 7 of 9');
    await registry.updateStatus('gone', 'terminated');
    await registry.updateStatus('lost', 'lost');
    await registry.updateStatus('leaving', 'terminating');
    await pool.claim('w1');
    const context = { pool_id, own: 1 };
    assert.deepEqual(await act('get_pool_state', context), { ...context, queue_depth: 2, active_workers: 3 });
  },
);

test('as many workers are needed as there are jobs, up to the most, and those that are there count', async (t) => {
  const { act } = await rig(t, await ground(t, 'memory', folder));
  const calculated = async (context: object): Promise<readonly unknown[]> => {
    const { workers_needed, workers_to_spawn, spawn_list } = await act('calculate_spawn', context);
    return [workers_needed, workers_to_spawn, spawn_list];
  };
  const cases: readonly (readonly [object, readonly unknown[]])[] = [
    [{ queue_depth: 10, active_workers: 0 }, [3, 3, [0, 1, 2]]],
    [{ queue_depth: 10, active_workers: 1, max_workers: 5 }, [5, 4, [0, 1, 2, 3]]],
    [{ queue_depth: 2, active_workers: 1, max_workers: '5' }, [2, 1, [0]]],
    [{ queue_depth: 2, active_workers: 4, max_workers: 5 }, [2, 0, []]],
    [{ queue_depth: 0, active_workers: 0, max_workers: 5 }, [0, 0, []]],
  ];
  for (const [context, expected] of cases) assert.deepEqual(await calculated(context), expected);
  assert.equal(await refusal(calculated({ queue_depth: 1, max_workers: 'many' })), 'INVALID_INPUT');
});

onEachStore(folder, 'a worker registers, beats, claims, settles and goes, each by an action', async (t, on) => {
  const { registry, act, pool } = await rig(t, on);
  const id = await pool.push({ n: 1 }, { max_retries: 2 });
  const begun = { pool_id: 'papers', worker_id: 'w1', capabilities: ['gpu'] };
  const registered = await act('register_worker', begun);
  const record = await registry.get('w1');
  assert.deepEqual(registered, { ...begun, status: 'active', registered_at: record?.started_at });
  assert.deepEqual([record?.pool_id, record?.capabilities], ['papers', ['gpu']]);

  await on.elapse(61_000);
  assert.equal((await registry.list({ stale_threshold_seconds: 60 })).length, 1);
  assert.deepEqual(await act('heartbeat', begun), begun);
  assert.equal((await registry.list({ stale_threshold_seconds: 60 })).length, 0);

  const claimed = await act('claim_job', begun);
  assert.deepEqual(claimed, { ...begun, job: { n: 1 }, job_id: id });
  const none = await act('claim_job', begun);
  assert.deepEqual([none['job'], none['job_id']], [null, null]);
  assert.deepEqual(await act('fail_job', { ...claimed, error: 'no ink' }), { ...claimed, error: 'no ink' });
  assert.equal((await on.rows('SELECT error FROM work_pool'))[0]?.['error'], 'no ink');
  const again = { ...(await act('claim_job', begun)), result: { pages: 3 } };
  assert.deepEqual(await act('complete_job', again), again);
  assert.deepEqual(
    (await on.rows('SELECT status, result FROM work_pool')).map((row) => Object.values(row)),
    [['done', '{"pages":3}']],
  );
  assert.equal(await refusal(act('complete_job', again)), 'LEASE_LOST');

  assert.equal((await act('deregister_worker', begun))['status'], 'terminated');
  assert.equal((await registry.get('w1'))?.status, 'terminated');
});

onEachStore(folder, 'a silent worker is listed and reaped, and its job is there for another', async (t, on) => {
  const { registry, act, pool } = await rig(t, on);
  const pool_id = 'papers';
  for (const worker_id of ['dead', 'alive']) await registry.register({ worker_id, pool_id });
  await registry.register({ worker_id: 'other', pool_id: 'mails' });
  const dead = await createWorkBackend(on.config, { world: on.world, duties: false });
  t.after(() => dead.close());
  const id = await pool.push(1);
  await dead.pool(pool_id).claim('dead');
  await on.elapse(61_000);
  await registry.heartbeat('alive');
  const found = await act('list_stale_workers', { pool_id });
  const ids = (found['workers'] as readonly { worker_id: string }[]).map(({ worker_id }) => worker_id);
  assert.deepEqual([ids, found['stale_count']], [['dead'], 1]);
  const context = { pool_id, worker: (found['workers'] as readonly unknown[])[0] };
  const reaped = await act('reap_worker', context);
  assert.deepEqual(reaped, { ...context, reaped_worker_id: 'dead', jobs_released: 1 });
  assert.equal((await registry.get('dead'))?.status, 'lost');
  assert.equal(await refusal(dead.pool(pool_id).complete(id, 'late')), 'LEASE_LOST');
  assert.equal((await pool.claim('alive'))?.id, id);
  assert.equal((await act('list_stale_workers', { pool_id }))['stale_count'], 0);
});

test('A9: what a worker holds that was marked as lost before is given back all the same', async (t) => {
  const on = await ground(t, 'memory', folder);
  const { registry, act, pool } = await rig(t, on);
  await registry.register({ worker_id: 'w1', pool_id: 'papers' });
  await pool.push(1);
  await pool.claim('w1');
  await registry.updateStatus('w1', 'lost');
  await on.elapse(61_000);
  const found = await act('list_stale_workers', { pool_id: 'papers', stale_threshold_seconds: 60 });
  const all = await act('reap_stale_workers', { pool_id: 'papers', stale_workers: found['workers'] });
  const { reaped_workers, reaped_count, total_jobs_released } = all;
  assert.deepEqual(
    { reaped_workers, reaped_count, total_jobs_released },
    {
      reaped_workers: ['w1'],
      reaped_count: 1,
      total_jobs_released: 1,
    },
  );
  assert.equal(await pool.size(), 1);
});

test('a worker that was heard of after it was found silent is left alone', async (t) => {
  const on = await ground(t, 'memory', folder);
  const { registry, act, pool } = await rig(t, on);
  await registry.register({ worker_id: 'w1', pool_id: 'papers' });
  await pool.push(1);
  await pool.claim('w1');
  await on.elapse(61_000);
  const { workers } = await act('list_stale_workers', { pool_id: 'papers' });
  await registry.heartbeat('w1');
  const { reaped_count, total_jobs_released } = await act('reap_stale_workers', {
    pool_id: 'papers',
    stale_workers: workers,
  });
  assert.deepEqual([reaped_count, total_jobs_released], [0, 0]);
  assert.equal((await registry.get('w1'))?.status, 'active');
});

test('a worker with a long interval is not stale for a reaper with a short threshold', async (t) => {
  const on = await ground(t, 'memory', folder);
  const { registry, act } = await rig(t, on);
  await registry.register({ worker_id: 'w1', pool_id: 'papers', heartbeat_interval: 90 });
  const stale = async (): Promise<unknown> =>
    (await act('list_stale_workers', { pool_id: 'papers', stale_threshold_seconds: 5 }))['stale_count'];
  await on.elapse(180_000);
  assert.equal(await stale(), 0);
  await on.elapse(1000);
  assert.equal(await stale(), 1);
});

test('an action of other hooks changes nothing, and one that misses something says what', async (t) => {
  const { act } = await rig(t, await ground(t, 'memory', folder));
  const context = { own: 1 };
  assert.deepEqual(await act('summarize', context), context);
  for (const action of ['get_pool_state', 'spawn_workers', 'claim_job', 'complete_job', 'heartbeat', 'reap_worker']) {
    assert.equal(await refusal(act(action, { ...context, workers_to_spawn: 1 })), 'INVALID_INPUT', action);
  }
  assert.equal(await refusal(act('reap_stale_workers', { stale_workers: 'w1' })), 'INVALID_INPUT');
});

test('hooks that are used by themselves open what they are told, and close it', async (t) => {
  const on = await ground(t, 'sqlite', folder);
  const hooks = new DistributedWorkerHooks({ backends: on.config, world: on.world });
  assert.equal((await hooks.onAction('get_pool_state', { pool_id: 'papers' }))['queue_depth'], 0);
  await hooks.close();
  assert.equal((await hooks.onAction('get_pool_state', { pool_id: 'papers' }))['queue_depth'], 0);
  await hooks.close();
  await hooks.close();
});

test('both backends are given, or none; and no option that is not known', () => {
  for (const options of [{ work_backend: {} }, { backend: {} }]) {
    assert.throws(() => new DistributedWorkerHooks(options as never));
  }
});

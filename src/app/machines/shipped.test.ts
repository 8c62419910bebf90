import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createRegistrationBackend, createWorkBackend, Machine } from '../../compat/index.ts';
import type { MachineHooks } from '../machines.ts';
import { problemsOf } from './problems.ts';
import { shippedMachines } from './shipped.ts';

interface Context {
  readonly pool_id: string;
  readonly worker_id: string;
  readonly job_id: string;
  readonly result?: unknown;
  readonly error?: string;
  readonly stale_threshold_seconds: number;
  readonly worker: { readonly worker_id: string };
}

/** A pool in memory with the actions that the shipped machines name. */
async function poolHooks() {
  const work = await createWorkBackend({ type: 'memory' });
  const registry = await createRegistrationBackend({ type: 'memory' });
  const lost: string[] = [];
  let workers = 0;
  const actions: Readonly<Record<string, (context: Context) => unknown>> = {
    get_pool_state: async ({ pool_id }) => ({
      queue_depth: await work.pool(pool_id).size(),
      active_workers: (await registry.list({ status: 'active' })).length,
    }),
    register_worker: async () => {
      const worker_id = `w${++workers}`;
      await registry.register({ worker_id, started_at: new Date().toISOString() });
      return { worker_id };
    },
    claim_job: async ({ pool_id, worker_id }) => {
      const item = await work.pool(pool_id).claim(worker_id);
      return { job: item?.data ?? null, job_id: item?.id ?? null };
    },
    complete_job: ({ pool_id, job_id, result }) => work.pool(pool_id).complete(job_id, result),
    fail_job: ({ pool_id, job_id, error }) => work.pool(pool_id).fail(job_id, error),
    deregister_worker: ({ worker_id }) => registry.updateStatus(worker_id, 'terminated'),
    list_stale_workers: async ({ stale_threshold_seconds }) => ({
      workers: stale_threshold_seconds === 0 ? await registry.list({ status: 'active' }) : [],
    }),
    reap_worker: async ({ worker, pool_id }) => {
      lost.push(worker.worker_id);
      await registry.updateStatus(worker.worker_id, 'lost');
      await work.pool(pool_id).releaseByWorker(worker.worker_id);
    },
  };
  const hooks: MachineHooks = {
    onAction: (_state: string, action: string, context: Context) => actions[action]?.(context),
  };
  return { work, registry, hooks, lost, close: async () => (await work.close(), registry.close()) };
}

describe('the machines that come with leasehold', () => {
  test('are strictly valid, have the names of their files, and are all in the package', async () => {
    const shipped = await shippedMachines();
    const files = readdirSync(join(import.meta.dirname, '../../../machines'));
    for (const [name, source] of shipped) {
      assert.deepEqual(await problemsOf(source, { strict: true }), [], name);
      if (name === 'actual_job_processor') continue;
      assert.ok(files.includes(`${name}.yml`));
      assert.equal((source.value as { data: { name: string } }).data.name, name);
    }
    assert.equal(shipped.get('actual_job_processor'), shipped.get('echo_processor'));
    assert.deepEqual([...shipped.keys()].sort().length, files.length + 1);
  });

  test('start as many workers as there are jobs, up to the most, and each does one', async (t) => {
    const { work, registry, hooks, close } = await poolHooks();
    t.after(close);
    for (let i = 0; i < 5; i++) await work.pool('papers').push({ paper: i });
    const check = (max_workers: number): Promise<unknown> =>
      new Machine({ file: 'parallelization_checker', hooks }).execute({ pool_id: 'papers', max_workers });
    assert.deepEqual(await check(3), { queue_depth: 5, active_workers: 0, spawned: 3 });
    assert.equal(await work.pool('papers').size(), 2);
    assert.equal((await registry.list({ status: 'terminated' })).length, 3);
    assert.deepEqual(await check(3), { queue_depth: 2, active_workers: 0, spawned: 2 });
    assert.deepEqual(await check(3), { queue_depth: 0, active_workers: 0, spawned: 0 });
  });

  test('do one job, give back one that fails, and find none', async (t) => {
    const { work, hooks, close } = await poolHooks();
    t.after(close);
    const pool = work.pool('papers');
    const worker = (more: object = {}): Promise<unknown> =>
      new Machine({ file: 'job_worker', hooks, ...more }).execute({ pool_id: 'papers' });
    assert.deepEqual(await worker(), { status: 'no_work_available' });
    const id = await pool.push({ paper: 1 });
    const failing = {
      spec: 'flatmachine',
      spec_version: '4.2.1',
      data: { name: 'failing', states: { start: { transitions: [{ condition: 'input.none', to: 'start' }] } } },
    };
    const failed = await worker({ machines: { actual_job_processor: failing } });
    assert.deepEqual(failed, { status: 'failed', job_id: id, error: 'no transition of "start" matches' });
    assert.equal(await pool.size(), 1);
    assert.deepEqual(await worker(), { status: 'done', job_id: id, result: { echo: { paper: 1 } } });
    assert.equal(await pool.size(), 0);
  });

  test('reap the workers that are silent, and give their jobs back', async (t) => {
    const { work, registry, hooks, lost, close } = await poolHooks();
    t.after(close);
    const pool = work.pool('papers');
    await pool.push({ paper: 1 });
    await registry.register({ worker_id: 'dead', started_at: new Date().toISOString() });
    await pool.claim('dead');
    const reap = (stale_threshold_seconds: number): Promise<unknown> =>
      new Machine({ file: 'stale_worker_reaper', hooks }).execute({ pool_id: 'papers', stale_threshold_seconds });
    assert.deepEqual(await reap(60), { reaped_count: 0 });
    assert.deepEqual(await reap(0), { reaped_count: 1 });
    assert.deepEqual([lost, await pool.size()], [['dead'], 1]);
  });

  test('try a job again until it is done, or the tries are used up', async () => {
    const flaky = {
      spec: 'flatmachine',
      spec_version: '4.2.1',
      data: {
        name: 'flaky',
        states: {
          start: { transitions: [{ condition: 'input.try >= input.job', to: 'end' }] },
          end: { type: 'final', output: { try: 'input.try' } },
        },
      },
    };
    const run = (job: number): Promise<unknown> =>
      new Machine({ file: 'job_with_retries', machines: { actual_job_processor: flaky } }).execute({
        job,
        pause_seconds: 0.001,
      });
    assert.deepEqual(await run(2), { status: 'done', tries: 2, result: { try: 2 } });
    assert.deepEqual(await run(9), { status: 'failed', tries: 3, error: 'no transition of "start" matches' });
  });
});

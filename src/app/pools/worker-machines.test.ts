/** Machines that are workers by their settings, on a clock that the test turns. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ground } from '../../../test/support/compat-grounds.ts';
import { createRegistrationBackend, createWorkBackend, DistributedWorkerHooks } from '../../compat/index.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { VirtualWorld } from '../../testing.ts';
import { runInline } from '../../worker/machine/inline-driver.ts';
import { loadMachine, readMachineFile } from '../../worker/machine/load-machine.ts';
import { LocalSignals } from '../../worker/machine/signals.ts';
import { HooksRegistry } from '../machines/parts.ts';

const folder = tempFolder('worker-machines');

/** A worker whose job lasts until somebody says that it is done, or that it has failed. */
const machine = (settings: object): object => ({
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'patient_worker',
    settings,
    context: { pool_id: 'papers', worker_id: '{{ input.worker_id }}' },
    states: {
      claim: { type: 'initial', action: 'claim_job', transitions: [{ to: 'work' }] },
      work: {
        wait_for: 'work/{{ context.worker_id }}',
        output_to_context: { result: '{{ output.result }}' },
        transitions: [{ condition: 'context.result == "bad"', to: 'broken' }, { to: 'complete' }],
      },
      broken: { transitions: [{ condition: 'false', to: 'complete' }] },
      complete: { action: 'complete_job', transitions: [{ to: 'done' }] },
      done: { type: 'final', output: { worker: '{{ context.worker_id }}', result: '{{ context.result }}' } },
    },
  },
});

async function rig(t: TestContext) {
  const on = await ground(t, 'sqlite', folder);
  const world = on.virtual as VirtualWorld;
  const options = { world, duties: false };
  const work = await createWorkBackend(on.config, options);
  const registry = await createRegistrationBackend(on.config, options);
  t.after(() => Promise.all([work.close(), registry.close()]));
  const quiet = world.waits.length;
  const signals = new LocalSignals();
  const stopping = new AbortController();
  const run = async (settings: object, input: object, id = 'run1'): Promise<unknown> => {
    const hooks = new DistributedWorkerHooks({ world });
    const source = { value: machine({ backends: on.config, ...settings }), folder, name: 'machine' };
    const loaded = await loadMachine(source, {
      hooks: new HooksRegistry(),
      own: [hooks],
      agent: () => Promise.reject(new Error('there are no agents')),
    });
    const about = { executionId: id, input, stop: stopping.signal };
    return runInline(loaded, about, { world, signals });
  };
  return { on, world, work, registry, signals, stopping, run, quiet };
}

test('a worker is registered at its start, beats by a timer through a long job, and is terminated at its end', async (t) => {
  const { on, world, work, registry, signals, run, quiet } = await rig(t);
  const id = await work.pool('papers').push({ n: 1 });
  const ended = run({ heartbeat_interval: 30 }, { worker_id: 'w1' });
  await world.advance(1);
  const record = await registry.get('w1');
  assert.deepEqual(
    [record?.status, record?.pool_id, record?.heartbeat_interval, record?.pid, record?.current_task_id],
    ['active', 'papers', 30, process.pid, id],
  );
  // Three times the silence after which it would be reaped.
  for (let i = 0; i < 6; i++) {
    await world.advance(30_000);
    assert.deepEqual(await registry.list({ stale_threshold_seconds: 60 }), []);
    assert.equal((await registry.get('w1'))?.status, 'active');
  }
  signals.send('work/w1', { result: 'good' });
  assert.deepEqual(await ended, { worker: 'w1', result: 'good' });
  assert.equal((await registry.get('w1'))?.status, 'terminated');
  assert.deepEqual((await on.rows('SELECT status, result FROM work_pool'))[0], { status: 'done', result: '"good"' });
  assert.equal(world.waits.length, quiet, 'no timer is left');
});

test('the beats are signs of life of their own, also without any claim', async (t) => {
  const { world, registry, signals, run } = await rig(t);
  const ended = run({ heartbeat_interval: 30 }, { worker_id: 'w1' });
  await world.advance(1);
  for (let i = 0; i < 5; i++) {
    await world.advance(30_000);
    assert.deepEqual(await registry.list({ stale_threshold_seconds: 31 }), []);
  }
  // The process stands still: nothing beats.
  world.elapse(61_000);
  assert.equal((await registry.list({ stale_threshold_seconds: 60 })).length, 1);
  signals.send('work/w1', { result: 'bad' });
  await assert.rejects(ended, /no transition of "broken" matches/);
});

test('a worker that fails says why, and the pool has its job back with the error', async (t) => {
  const { on, world, work, registry, signals, run, quiet } = await rig(t);
  await work.pool('papers').push({ n: 1 });
  const ended = run({ heartbeat_interval: 30 }, { worker_id: 'w1' });
  const failed = assert.rejects(ended, /no transition of "broken" matches/);
  await world.advance(1);
  signals.send('work/w1', { result: 'bad' });
  await failed;
  const record = await registry.get('w1');
  assert.deepEqual([record?.status, record?.metadata], ['terminated', { error: 'no transition of "broken" matches' }]);
  const [shown] = await on.rows('SELECT error FROM worker_registry');
  assert.equal(shown?.['error'], 'no transition of "broken" matches');
  const [job] = await on.rows('SELECT status, attempts, error FROM work_pool');
  assert.deepEqual(job, { status: 'pending', attempts: 1, error: 'no transition of "broken" matches' });
  assert.equal(world.waits.length, quiet, 'no timer is left');
});

test('a worker that is stopped gives its job back with the try, and no timer is left', async (t) => {
  const { on, world, work, registry, stopping, run, quiet } = await rig(t);
  await work.pool('papers').push({ n: 1 });
  const ended = run({ heartbeat_interval: 30 }, { worker_id: 'w1' });
  const stopped = assert.rejects(ended, /enough/);
  await world.advance(1);
  stopping.abort(new Error('enough'));
  await stopped;
  assert.equal((await registry.get('w1'))?.status, 'terminated');
  const [job] = await on.rows('SELECT status, attempts FROM work_pool');
  assert.deepEqual(job, { status: 'pending', attempts: 0 });
  assert.equal(world.waits.length, quiet, 'no timer is left');
});

test('the pool of the settings goes first, and without an id the worker has that of its run', async (t) => {
  const { world, registry, signals, run } = await rig(t);
  const ended = run({ worker_pool: 'night' }, {}, 'run7');
  await world.advance(1);
  const record = await registry.get('run7');
  assert.deepEqual([record?.pool_id, record?.heartbeat_interval], ['night', undefined]);
  // It beats all the same.
  await world.advance(100_000);
  assert.deepEqual(await registry.list({ stale_threshold_seconds: 60 }), []);
  signals.send('work/run7', { result: 'bad' });
  await assert.rejects(ended);
});

test('a heartbeat interval that is none, and a backend that is not there yet, are refused', async (t) => {
  const { run } = await rig(t);
  await assert.rejects(run({ heartbeat_interval: 'often' }, {}), /heartbeat_interval.*number of seconds/);
  await assert.rejects(
    run({ heartbeat_interval: 30, backends: { work: 'redis', registration: 'redis' } }, {}),
    (error) => {
      assert.match((error as Error).message, /"redis" comes with a later version; use one of sqlite, memory, postgres/);
      return true;
    },
  );
  await assert.rejects(
    run({ heartbeat_interval: 30, backends: null }, {}),
    /settings\.backends.*missing.*sqlite_path.*WORKER_DB_PATH/,
  );
  await assert.rejects(run({ heartbeat_interval: 30, backends: { sqlite: 'x' } }, {}), /sqlite/);
});

test('what a machine within another one has claimed is left to that, and failed when nobody settles it', async (t) => {
  const { on, world, work } = await rig(t);
  const claiming = (settings: object): object => ({
    spec: 'flatmachine',
    spec_version: '4.2.1',
    data: {
      name: 'claiming',
      settings,
      context: { pool_id: 'papers', worker_id: 'w1' },
      states: {
        claim: { action: 'claim_job', transitions: [{ to: 'end' }] },
        end: { type: 'final', output: { job_id: '{{ context.job_id }}' } },
      },
    },
  });
  const outer = (settle: boolean, settings: object): object => ({
    spec: 'flatmachine',
    spec_version: '4.2.1',
    data: {
      name: 'outer',
      settings: { backends: on.config },
      machines: { claiming: claiming(settings) },
      context: { pool_id: 'papers' },
      states: {
        take: {
          machine: 'claiming',
          output_to_context: { job_id: '{{ output.job_id }}' },
          transitions: [{ to: settle ? 'complete' : 'end' }],
        },
        complete: { action: 'complete_job', transitions: [{ to: 'end' }] },
        end: { type: 'final', output: { job_id: '{{ context.job_id }}' } },
      },
    },
  });
  const run = async (settle: boolean, settings: object = {}): Promise<unknown> => {
    const loaded = await loadMachine(
      { value: outer(settle, settings), folder, name: 'outer' },
      {
        hooks: new HooksRegistry(),
        own: [new DistributedWorkerHooks({ world })],
        agent: () => Promise.reject(new Error('there are no agents')),
      },
    );
    const about = { executionId: 'outer', input: {}, stop: new AbortController().signal };
    return runInline(loaded, about, { world, signals: new LocalSignals() });
  };
  const job_id = await work.pool('papers').push(1);
  const job = async (): Promise<unknown> => (await on.rows('SELECT status, attempts, error FROM work_pool'))[0];
  assert.deepEqual(await run(false), { job_id });
  assert.deepEqual(await job(), { status: 'pending', attempts: 1, error: 'the machine ended without settling it' });
  assert.deepEqual(await run(false, { backends: on.config }), { job_id });
  assert.deepEqual(await job(), { status: 'pending', attempts: 2, error: 'the machine ended without settling it' });
  assert.deepEqual(await run(true, { backends: on.config }), { job_id });
  assert.deepEqual(await job(), { status: 'done', attempts: 3, error: null });
});

test('each backend may have a file of its own, and a path alone means SQLite', async (t) => {
  const { on, world, run, signals } = await rig(t);
  const [work_path, registration_path] = [join(folder, 'own-work.db'), join(folder, 'own-workers.db')];
  const ended = run({ heartbeat_interval: 30, backends: { work_path, registration_path } }, { worker_id: 'w1' });
  const failed = assert.rejects(ended);
  await world.advance(1);
  signals.send('work/w1', { result: 'bad' });
  await failed;
  const options = { world: on.world, duties: false };
  const registry = await createRegistrationBackend({ type: 'sqlite', registration_path }, options);
  t.after(() => registry.close());
  assert.equal((await registry.get('w1'))?.status, 'terminated');
});

test('the machines of document 000 run as they are printed, on a file', async (t) => {
  const { on, world, work, registry } = await rig(t);
  const pool = work.pool('papers');
  const file = (name: string): Promise<Awaited<ReturnType<typeof readMachineFile>>> =>
    readMachineFile(join(import.meta.dirname, '../../worker/machine/document-000', `${name}.yml`));
  let ids = 0;
  const run = async (name: string, input: object): Promise<unknown> => {
    const hooks = new DistributedWorkerHooks({ backends: on.config, world });
    const failing = {
      onAction: (action: string) => {
        if (action === 'fail_on_purpose') throw new RangeError('the job is bad');
      },
    };
    const loaded = await loadMachine(await file(name), {
      hooks: new HooksRegistry(),
      own: [hooks, failing],
      strict: true,
      machines: new Map([
        ['actual_job_processor', await file('echo_processor')],
        ['job_worker', await file('job_worker')],
      ]),
      agent: () => Promise.reject(new Error('there are no agents')),
    });
    const about = {
      executionId: `root${++ids}`,
      input: { pool_id: 'papers', ...input },
      stop: new AbortController().signal,
    };
    return runInline(loaded, about, { world, signals: new LocalSignals() });
  };
  for (const n of [1, 2, 3, 4]) await pool.push({ n });
  assert.deepEqual(await run('parallelization_checker', { max_workers: 3 }), { spawned: 4 });
  assert.deepEqual(
    (await on.rows('SELECT status, attempts FROM work_pool')).map((row) => Object.values(row)),
    [1, 2, 3, 4].map(() => ['done', 1]),
  );
  assert.equal((await registry.list({ pool_id: 'papers', status: 'terminated' })).length, 4);
  assert.deepEqual(await run('job_worker', {}), { status: 'no_work_available' });

  const bad = await pool.push({ fail: true }, { max_retries: 2 });
  for (const result of [null, null]) assert.deepEqual(await run('job_worker', {}), { job_id: bad, result });
  const [poisoned] = await on.rows(`SELECT status, attempts, error FROM work_pool WHERE id = '${bad}'`);
  assert.deepEqual(poisoned, { status: 'poisoned', attempts: 2, error: 'the job is bad' });

  assert.deepEqual(await run('stale_worker_reaper', {}), { reaped_count: 0 });
  await registry.register({ worker_id: 'dead', pool_id: 'papers' });
  const id = await pool.push({ n: 5 });
  await pool.claim('dead');
  world.elapse(61_000);
  assert.deepEqual(await run('stale_worker_reaper', {}), { reaped_count: 1 });
  assert.equal((await registry.get('dead'))?.status, 'lost');
  assert.deepEqual(await run('job_worker', {}), { job_id: id, result: { echo: { n: 5 } } });
});

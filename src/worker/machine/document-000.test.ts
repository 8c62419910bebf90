/** The three machines of document 000, as they are printed there, with an `echo_processor` as their job processor. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { HooksRegistry } from './hooks-registry.ts';
import { runInline } from './inline-driver.ts';
import { loadMachine, readMachineFile } from './load-machine.ts';
import type { MachineHooks } from './machine-hooks.ts';
import { LocalSignals } from './signals.ts';

const world = realWorld();
const file = (name: string): string => join(import.meta.dirname, 'document-000', `${name}.yml`);

/** Hooks as the document describes them, over a queue and a registry in memory. */
class Pool {
  readonly queue: unknown[];
  readonly claimed = new Map<string, { readonly job: unknown; readonly by: unknown }>();
  readonly done: unknown[] = [];
  readonly failed: unknown[] = [];
  readonly reaped: unknown[] = [];
  stale: unknown[] = [];
  active = 0;

  constructor(...jobs: readonly unknown[]) {
    this.queue = [...jobs];
  }

  readonly hooks: MachineHooks = {
    onAction: (...given: readonly unknown[]) => {
      const context = given.at(-1) as Readonly<Record<string, unknown>>;
      switch (given[0]) {
        case 'get_pool_state':
          return { queue_depth: this.queue.length, active_workers: this.active };
        case 'claim_job': {
          assert.notEqual(context['worker_id'], undefined, 'a worker has an id');
          const job = this.queue.shift() ?? null;
          const id = job === null ? null : `job${this.claimed.size + 1}`;
          if (id !== null) this.claimed.set(id, { job, by: context['worker_id'] });
          return { job, job_id: id };
        }
        case 'complete_job':
          this.done.push([context['job_id'], context['result']]);
          return context;
        case 'fail_job':
          this.failed.push([context['job_id'], context['error']]);
          return context;
        case 'list_stale_workers':
          return { workers: this.stale };
        case 'reap_worker':
          this.reaped.push(context['worker']);
          return { reaped: context['worker'] };
        case 'fail_on_purpose':
          throw new RangeError('the job is bad');
        default:
          return context;
      }
    },
  };

  async run(name: string, input: object): Promise<unknown> {
    const job = await readMachineFile(file('echo_processor'));
    const worker = await readMachineFile(file('job_worker'));
    const runnable = await loadMachine(await readMachineFile(file(name)), {
      hooks: new HooksRegistry(),
      own: [this.hooks],
      strict: true,
      machines: new Map([
        ['actual_job_processor', job],
        ['job_worker', worker],
      ]),
      agent: () => Promise.reject(new Error('there are no agents')),
    });
    let ids = 0;
    return runInline(
      runnable,
      { executionId: 'root', input, stop: new AbortController().signal },
      { world, signals: new LocalSignals(), childId: () => `worker${++ids}` },
    );
  }
}

describe('document 000, as it is printed', () => {
  test('the checker launches job workers, which do the jobs of the pool', async () => {
    const pool = new Pool({ n: 1 }, { n: 2 }, { n: 3 });
    assert.deepEqual(await pool.run('parallelization_checker', { pool_id: 'papers', max_workers: 3 }), { spawned: 3 });
    assert.deepEqual(
      pool.done.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      [1, 2, 3].map((n) => [`job${n}`, { echo: { n } }]),
    );
    assert.equal(new Set([...pool.claimed.values()].map(({ by }) => by)).size, 3, 'each is a worker of its own');
  });

  test('the checker spawns up to ten unless it is told, and none beyond what it may', async () => {
    const pool = new Pool();
    assert.deepEqual(await pool.run('parallelization_checker', { pool_id: 'papers' }), { spawned: 10 });
    pool.active = 10;
    assert.deepEqual(await pool.run('parallelization_checker', { pool_id: 'papers' }), { spawned: 0 });
  });

  test('a job worker does one job and gives its result', async () => {
    const pool = new Pool({ n: 1 }, { n: 2 });
    assert.deepEqual(await pool.run('job_worker', { pool_id: 'papers' }), {
      job_id: 'job1',
      result: { echo: { n: 1 } },
    });
    assert.deepEqual([pool.queue.length, pool.done], [1, [['job1', { echo: { n: 1 } }]]]);
  });

  test('a job worker without a job says so', async () => {
    assert.deepEqual(await new Pool().run('job_worker', { pool_id: 'papers' }), { status: 'no_work_available' });
  });

  test('a job that fails is given back with its message', async () => {
    const pool = new Pool({ fail: true });
    assert.deepEqual(await pool.run('job_worker', { pool_id: 'papers' }), { job_id: 'job1', result: null });
    assert.deepEqual([pool.done, pool.failed], [[], [['job1', 'the job is bad']]]);
  });

  test('the reaper reaps each stale worker, and none when there is none', async () => {
    const pool = new Pool();
    assert.deepEqual(await pool.run('stale_worker_reaper', { pool_id: 'papers' }), { reaped_count: 0 });
    pool.stale = [{ worker_id: 'w1' }, { worker_id: 'w2' }];
    assert.deepEqual(await pool.run('stale_worker_reaper', { pool_id: 'papers' }), { reaped_count: 2 });
    assert.deepEqual(pool.reaped, pool.stale);
  });
});

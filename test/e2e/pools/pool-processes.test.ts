/** Pools whose workers are processes, of which some are killed. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getRun, listRunAttempts, queueRun, type RuntimeDb } from '../../../src/compat/index.ts';
import { ChildWorker } from '../../../src/compat/universal-agent/pool/child-worker.ts';
import type { WorkerPoolManager } from '../../../src/compat/universal-agent/pool/manager.ts';
import { tempFolder } from '../../../src/store/conformance/kit/temp-folder.ts';
import { onBothStores } from '../../support/runs/run-pools.ts';

const folder = tempFolder('pool-processes');
const handler_module = fileURLToPath(new URL('./runs-child.ts', import.meta.url));
const PROCESSES = { processes: true, handler_module } as const;

/** Resolves when the log of the run has this line. */
async function says(conn: RuntimeDb, runId: string, wanted: string): Promise<void> {
  const run = (await conn.app.engine.runs.get(runId)) ?? assert.fail();
  for await (const item of conn.app.engine.logs.follow(run.task)) if ('text' in item && item.text === wanted) return;
  assert.fail(`the log of ${runId} ends without: ${wanted}`);
}

/** The store may know what a process does before the process has told its pool. */
async function childAt(pool: WorkerPoolManager, runId: string): Promise<ChildWorker> {
  for (const began = performance.now(); performance.now() - began < 10_000; await pause(5)) {
    const found = [...pool.workers.values()].find(({ state }) => state.currentRunId === runId);
    if (found instanceof ChildWorker) return found;
  }
  return assert.fail(`no process is at ${runId}`);
}

onBothStores(
  folder,
  'each worker is a process, which performs runs and ends with its pool',
  async (_, { conn, pool: make, ended }) => {
    const pool = make({ ...PROCESSES, min_workers: 2 }, undefined);
    await pool.start();
    const pids = [...pool.workers.values()].map((worker) => (worker as ChildWorker).pid ?? 0);
    assert.equal(new Set([process.pid, ...pids]).size, 3);
    for (const run_id of ['a', 'b', 'c']) await queueRun(conn, { run_id, prompt: 'fine' });
    await queueRun(conn, { run_id: 'd', prompt: 'throws' });
    await ended('a', 'b', 'c', 'd');
    for (const run_id of ['a', 'b', 'c']) {
      const run = (await getRun(conn, run_id)) ?? assert.fail();
      const { pid } = run.result as { pid: number };
      assert.ok(pids.includes(pid));
    }
    assert.equal((await listRunAttempts(conn, 'd'))[0]?.failure_reason, 'no d');
    await pool.stop();
    const { total_workers, total_completed, total_failed } = pool.getPoolStats();
    assert.deepEqual([total_workers, total_completed, total_failed], [0, 3, 1]);
    for (const pid of pids) assert.throws(() => process.kill(pid, 0), /ESRCH/);
  },
);

onBothStores(
  folder,
  'a process that is killed with kill -9 is replaced, and another worker goes on with its run from the checkpoint',
  async (_, { conn, pool: make, ended }) => {
    const pool = make({ ...PROCESSES, min_workers: 2 }, undefined, {
      lease_ttl_seconds: 1,
      heartbeat_interval_seconds: 0.3,
    });
    await pool.start();
    await queueRun(conn, { run_id: 'job_1', prompt: 'killed' });
    await says(conn, 'job_1', 'the checkpoint is saved');
    const killed = await childAt(pool, 'job_1');
    process.kill(killed.pid ?? 0, 'SIGKILL');
    await killed.ended;
    await ended('job_1');
    const { status, result, attempts } = (await getRun(conn, 'job_1')) ?? assert.fail();
    const { pid, attempt, checkpoint } = result as { pid: number; attempt: number; checkpoint: unknown };
    assert.deepEqual([status, attempt, checkpoint, attempts], ['completed', 2, { page: 7, of: 'runs' }, 2]);
    assert.notEqual(pid, killed.pid);
    const [first] = await listRunAttempts(conn, 'job_1');
    assert.deepEqual([first?.failure_class, first?.lease_owner], ['lease_expired', killed.workerId]);
    await pool.check();
    assert.equal(pool.workers.size, 2);
    assert.ok(!pool.workers.has(killed.workerId));
  },
);

onBothStores(folder, 'a stop without draining gives back what processes are at', async (_, { conn, pool: make }) => {
  const pool = make(PROCESSES, undefined);
  await pool.start();
  await queueRun(conn, { run_id: 'job_1', prompt: 'stopped' });
  await says(conn, 'job_1', 'the checkpoint is saved');
  await pool.stop({ drain: false });
  const run = await getRun(conn, 'job_1');
  assert.deepEqual([run?.status, run?.attempts], ['queued', 0]);
});

onBothStores(
  folder,
  'a module that does not load is told, and the start of the pool leaves nothing behind',
  async (_, { pool: make }) => {
    const pool = make({ ...PROCESSES, handler_module: `${folder}/nothing.ts`, min_workers: 2 }, undefined);
    await assert.rejects(pool.start(), /nothing\.ts/);
    assert.equal(pool.workers.size, 0);
  },
);

/** Pools whose database is stopped and started again. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getRun, listRunAttempts, queueRun } from '../../../src/compat/index.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { type PoolScene, sceneAt } from '../../support/runs/run-pools.ts';

async function stage(t: TestContext): Promise<PoolScene & { readonly server: PostgresServer }> {
  const server = await startPostgres();
  const scene = await sceneAt(t, `${server.url('postgres')}&pool=3`);
  // After the connection of the scene, which would wait for it.
  t.after(() => server.stop());
  return { ...scene, server };
}

test('a database that is stopped under a run and started again costs neither the run nor a worker', async (t) => {
  const { conn, pool: make, ended, server } = await stage(t);
  const began = Promise.withResolvers<void>();
  const open = Promise.withResolvers<boolean>();
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} };
  const pool = make(
    { min_workers: 2 },
    (runId) => {
      began.resolve();
      return runId === 'job_1' ? open.promise : true;
    },
    {},
    { log },
  );
  await pool.start();
  const ids = [...pool.workers.keys()];
  await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
  await began.promise;
  await server.down();
  assert.equal(await pool.check(), undefined, 'nothing is decided while nobody can count');
  assert.ok(warnings.some((line) => line.includes('cannot see its queue')));
  // The handler ends while there is nobody to tell.
  open.resolve(true);
  await server.up();
  await ended('job_1');
  await queueRun(conn, { run_id: 'job_2', prompt: 'x' });
  await ended('job_2');
  const runs = [await getRun(conn, 'job_1'), await getRun(conn, 'job_2')];
  assert.deepEqual(
    runs.map((run) => [run?.status, run?.attempt]),
    [
      ['completed', 1],
      ['completed', 1],
    ],
  );
  assert.deepEqual([...pool.workers.keys()], ids, 'the same workers');
  assert.deepEqual(await pool.check(), { spawn: 0, remove: [] });
  await pool.stop();
});

test('workers that are processes wait for a database that is away for longer than a lease, and come back', async (t) => {
  const { conn, pool: make, ended, server } = await stage(t);
  const handler_module = fileURLToPath(new URL('./runs-child.ts', import.meta.url));
  const pool = make({ min_workers: 2, processes: true, handler_module }, undefined, {
    lease_ttl_seconds: 1,
    heartbeat_interval_seconds: 0.3,
    poll_interval_seconds: 0.2,
  });
  await pool.start();
  const ids = [...pool.workers.keys()];
  await queueRun(conn, { run_id: 'job_0', prompt: 'fine' });
  await ended('job_0');
  await server.down();
  const away = performance.now();
  // Each look waits for the store as long as it would for an answer.
  while (performance.now() - away < 3000) assert.equal(await pool.check(), undefined);
  await server.up();
  const runs = Array.from({ length: 10 }, (_, i) => `job_${i + 1}`);
  for (const run_id of runs) await queueRun(conn, { run_id, prompt: 'fine' });
  await ended(...runs);
  for (const run_id of runs) assert.equal((await getRun(conn, run_id))?.status, 'completed');
  assert.deepEqual([...pool.workers.keys()], ids);
  assert.equal((await listRunAttempts(conn, 'job_10')).length, 1);
  await pool.stop();
});

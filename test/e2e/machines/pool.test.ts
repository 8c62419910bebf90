/** The pool of examples/machines/pool with real processes: checkers, the workers that they spawn, a dead worker and a reaper. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createWorkBackend, type WorkPool } from '../../../src/compat/index.ts';
import { ROOT, run } from '../../support/leasehold.ts';
import { place } from '../cli/cli-calls.ts';

const FOLDER = join(ROOT, 'examples/machines/pool');
/** Each try is a process of its own: far more of them than it takes. */
const TRIES = 60;

async function rig(t: TestContext) {
  const { cwd, call } = place(t);
  cpSync(FOLDER, cwd, { recursive: true });
  const file = join(cwd, 'pool.sqlite');
  const work = await createWorkBackend({ type: 'sqlite', sqlite_path: file }, { duties: false });
  const db = new DatabaseSync(file, { readOnly: true });
  t.after(async () => {
    db.close();
    await work.close();
  });
  const machine = async (name: string, input: object = {}): Promise<Record<string, unknown>> => {
    const { code, stdout, stderr } = await call(['run', name, '--json', '--input', JSON.stringify(input)]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  /** Until it says so. */
  const until = async <T>(ask: () => Promise<T>, good: (answer: T) => boolean): Promise<T> => {
    for (let i = 0; i < TRIES; i++) {
      const answer = await ask();
      if (good(answer)) return answer;
    }
    return assert.fail('it never came');
  };
  const pool: WorkPool = work.pool('papers');
  const rows = (sql: string): readonly (readonly unknown[])[] =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row));
  return { cwd, call, machine, until, pool, rows };
}

test('checkers spawn workers as processes, never more than the most, and each job is done once', async (t) => {
  const { machine, until, pool, rows } = await rig(t);
  const ids: string[] = [];
  for (const paper of [1, 2, 3, 4, 5]) ids.push(await pool.push({ paper, delay_seconds: 2 }));
  const check = (): Promise<Record<string, unknown>> => machine('checker.yml', { max_workers: 3 });
  const [one, other] = await Promise.all([check(), check()]);
  const spawned = [...(one['spawned'] as string[]), ...(other['spawned'] as string[])];
  assert.equal(new Set(spawned).size, 3, 'together they spawn no more than the most');
  for (const id of spawned) assert.match(id, /^worker-[0-9a-f]{8}$/);
  const later = await until(check, ({ spawned: more }) => (more as string[]).length > 0);
  assert.ok((later['spawned'] as string[]).length <= 2);
  await until(check, ({ queue_depth, active_workers }) => queue_depth === 0 && active_workers === 0);
  assert.deepEqual(
    rows('SELECT id, status, attempts, result FROM work_pool ORDER BY CAST(id AS INTEGER)'),
    ids.map((id, i) => [id, 'done', 1, JSON.stringify({ echo: { paper: i + 1, delay_seconds: 2 } })]),
  );
  const workers = rows('SELECT status, pool_id FROM worker_registry');
  assert.ok(workers.length >= 5);
  for (const worker of workers) assert.deepEqual(worker, ['terminated', 'papers']);
});

test('a worker is killed in the middle of its job: the reaper gives the job back, and another one does it', async (t) => {
  const { cwd, machine, until, pool, rows } = await rig(t);
  // The same worker with a job that says when it has begun, and never ends.
  writeFileSync(
    join(cwd, 'hang.hooks.mjs'),
    `export default class {
      onAction(state, action) {
        if (action !== 'hang') return undefined;
        console.log('working');
        return new Promise(() => {});
      }
    }\n`,
  );
  const yml = readFileSync(join(cwd, 'worker.yml'), 'utf8');
  const hanging = yml
    .replace('hooks: distributed-worker', 'hooks: [distributed-worker, {file: ./hang.hooks.mjs}]')
    .replace('machine: echo_processor', 'action: hang');
  assert.notEqual(hanging, yml);
  writeFileSync(join(cwd, 'hanging.yml'), hanging);
  const id = await pool.push({ paper: 1 });
  const worker = run(t, ['run', 'hanging.yml', '--execution-id', 'doomed'], { cwd });
  await worker.says(/working/);
  assert.deepEqual(rows('SELECT status, claimed_by FROM work_pool'), [['claimed', 'doomed']]);
  assert.equal((await machine('reaper.yml', { stale_threshold_seconds: 0 }))['jobs_released'], 0, 'it is alive');
  worker.child.kill('SIGKILL');
  await worker.ended;
  const reap = (): Promise<Record<string, unknown>> => machine('reaper.yml', { stale_threshold_seconds: 0 });
  const reaped = await until(reap, ({ jobs_released }) => jobs_released !== 0);
  assert.deepEqual(reaped, { reaped: ['doomed'], jobs_released: 1 });
  assert.deepEqual(rows('SELECT worker_id, status FROM worker_registry'), [['doomed', 'lost']]);
  const done = await machine('worker.yml');
  assert.deepEqual([done['job_id'], done['result']], [id, { echo: { paper: 1 } }]);
  assert.deepEqual(rows('SELECT status, attempts FROM work_pool'), [['done', 2]]);
});

test('the machines are strictly valid, and what the page says of them works', async (t) => {
  const { call, cwd, pool } = await rig(t);
  for (const file of ['checker.yml', 'worker.yml', 'reaper.yml']) {
    const checked = await call(['machines', 'check', file]);
    assert.deepEqual([checked.code, checked.stdout], [0, '']);
  }
  const nodeArgs = ['--conditions=@leasehold/source'];
  const seed = run(t, ['2'], { cwd, program: join(FOLDER, 'seed.ts'), nodeArgs });
  assert.equal((await seed.ended).code, 0, seed.stderr);
  assert.equal(seed.stdout, '2 jobs wait\n');
  assert.equal(await pool.size(), 2);
  const readme = readFileSync(join(FOLDER, '../README.md'), 'utf8');
  assert.match(readme, /leasehold run checker\.yml/);
});

test('the machines that come with leasehold work on the pool that the environment names', async (t) => {
  const { call, pool, rows } = await rig(t);
  for (const paper of [1, 2]) await pool.push({ paper });
  const shipped = async (name: string, more: readonly string[] = []): Promise<unknown> => {
    const args = ['run', name, '--json', '--input', '{"pool_id": "papers", "max_workers": 1}', ...more];
    const { code, stdout, stderr } = await call(args, '', { WORKER_DB_PATH: './pool.sqlite' });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as unknown;
  };
  assert.deepEqual(await shipped('parallelization_checker'), { queue_depth: 2, active_workers: 0, spawned: 1 });
  assert.deepEqual(await shipped('job_worker'), { status: 'done', job_id: '2', result: { echo: { paper: 2 } } });
  assert.deepEqual(await shipped('stale_worker_reaper'), { reaped_count: 0 });
  // As it is printed, by the name of the hooks.
  const printed = join(ROOT, 'src/worker/machine/document-000/job_worker.yml');
  assert.deepEqual(await shipped(printed, ['--hooks', 'distributed-worker']), { status: 'no_work_available' });
  assert.deepEqual(rows('SELECT status, attempts FROM work_pool'), [
    ['done', 1],
    ['done', 1],
  ]);
  assert.deepEqual(rows('SELECT DISTINCT status, pool_id FROM worker_registry'), [['terminated', 'papers']]);
  const without = await call(['run', 'job_worker', '--input', '{"pool_id": "papers"}']);
  assert.equal(without.code, 1);
  assert.match(without.stderr, /settings\.backends.*WORKER_DB_PATH/);
});

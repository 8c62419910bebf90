import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { ground } from './ground.ts';

// The verification plan of document 000, with real processes and without a daemon: what a cron would call, and the workers that it starts.

const MOST = 3;

test('ten jobs and three workers: each job is done once, and there are never more than three workers', async (t) => {
  const { call, status, staff, until, url } = await ground(t);
  assert.match((await call('pool', 'seed', 'jobs', '{"delay_ms":50}', '--count', '10')).stdout, /^Added 10 tasks/);
  const checked = await call('pool', 'check', 'jobs', '--max-workers', String(MOST), '--json');
  assert.equal(checked.code, 0, checked.stderr);
  const [first] = checked.objects();
  assert.deepEqual([first?.['launched'], first?.['runnable']], [3, 10]);
  // Again, as a cron would: there is nothing that it could add.
  const [second] = (await call('pool', 'check', 'jobs', '--json')).objects();
  assert.ok(Number(second?.['there']) <= MOST);
  let most = 0;
  const watch = ({ there }: { readonly there: number }): void => {
    most = Math.max(most, there);
  };
  await until(
    'jobs',
    'ten jobs are done and nobody is there',
    // Who ends looks at the pool once more: for a moment nobody is there, and then the next one.
    async () => (await staff('jobs')).there === 0 && (await status('jobs'))['done'] === 10,
    watch,
  );
  const [counted] = (await call('pool', 'status', 'jobs', '--json')).objects();
  assert.deepEqual(counted, {
    pool: 'jobs',
    pending: 0,
    claimed: 0,
    done: 10,
    poisoned: 0,
    active_workers: 0,
    starting: 0,
    max_workers: 3,
  });
  assert.ok(most >= 1 && most <= MOST, `${most} workers at once`);
  const db = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  const jobs = db.prepare("SELECT status, attempts, claimed_by FROM work_pool WHERE pool_name = 'jobs'").all();
  db.close();
  assert.deepEqual(
    new Set(jobs.map(({ status: state, attempts }) => [state, attempts].join(' '))),
    new Set(['done 1']),
  );
  assert.equal(new Set(jobs.map(({ claimed_by: worker }) => worker)).size, 10, 'a worker takes one job and ends');
});

test('the job of a worker that is killed goes back, the worker is lost, and the next check has it done', async (t) => {
  const { call, status, pids, until } = await ground(t);
  await call('pool', 'seed', 'long', '{"delay_ms":600000}', '--count', '1', '--max-attempts', '5');
  await call('pool', 'check', 'long', '--max-workers', '1');
  await until('long', 'the job is claimed', async () => (await status('long'))['claimed'] === 1);
  const [pid] = await pids('long');
  process.kill(pid as number, 'SIGKILL');
  const lost: unknown[] = [];
  let released = 0;
  await until('long', 'the worker is lost and its job is back', async () => {
    const reaped = await call('pool', 'reap', '--stale-threshold', '3s', '--json');
    const [found] = reaped.objects();
    lost.push(...((found?.['lost'] as readonly unknown[] | undefined) ?? assert.fail(reaped.stderr)));
    released += Number(found?.['released']);
    return lost.length > 0 && (await status('long'))['claimed'] === 0;
  });
  assert.deepEqual([lost.length, released], [1, 1]);
  const [worker] = (await call('workers', 'list', '--json')).objects();
  assert.equal(worker?.['state'], 'lost');
  const [again] = (await call('pool', 'check', 'long', '--json')).objects();
  assert.equal(again?.['launched'], 1, 'the next worker takes it');
});

test('a job that fails as often as it may is poisoned, and no worker is started for it any more', async (t) => {
  const { call, status, staff, until } = await ground(t);
  await call('pool', 'seed', 'bad', '{"fail":"always"}', '--count', '1', '--max-attempts', '2');
  await call('pool', 'check', 'bad', '--max-workers', '2');
  await until('bad', 'the job is poisoned', async () => {
    // A cron: the retry is due after a pause, and no process is there to wait for it.
    if ((await staff('bad')).there === 0) await call('pool', 'check', 'bad');
    return (await status('bad'))['poisoned'] === 1;
  });
  await until('bad', 'nobody is there', async () => (await staff('bad')).there === 0);
  const [last] = (await call('pool', 'check', 'bad', '--json')).objects();
  assert.deepEqual([last?.['launched'], last?.['want']], [0, 0]);
});

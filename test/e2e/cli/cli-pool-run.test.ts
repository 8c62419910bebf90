import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../support/leasehold.ts';
import { place } from './cli-calls.ts';

const HANDLER = `
import { existsSync, watch } from 'node:fs';

export const runHandler = async (runId, workspace, { run, log }) => {
  log('at it');
  if (run.last_job_prompt === 'fails') return false;
  if (run.last_job_prompt !== 'waits') return { success: true, result: runId };
  await new Promise((resolve) => {
    const look = () => existsSync('go-on') && resolve();
    const watcher = watch('.', look);
    look();
  });
  return true;
};
`;

for (const more of [[], ['--processes']]) {
  const kind = more.length === 0 ? 'in one process' : 'in processes of their own';
  test(`a pool of workers ${kind} performs runs, tells its figures, and lets the last one end after Ctrl-C`, async (t) => {
    const { call, cwd } = place(t);
    writeFileSync(join(cwd, 'handler.mjs'), HANDLER);
    const pool = run(t, ['pool', 'run', '--run-handler', 'handler.mjs', '--min', '2', '--json', ...more], { cwd });
    const started = JSON.parse((await pool.says(/\{"event":"started".*\}/))[0]) as Record<string, unknown>;
    assert.deepEqual([started['queue'], started['min'], started['max']], ['runs', 2, 4]);
    const push = (prompt: string, id: string) =>
      call(['push', 'runs', JSON.stringify({ prompt }), '--handler', 'run', '--unique', id]);
    await push('fine', 'job_1');
    await push('fails', 'job_2');
    await pool.says(/"event":"figures","total_workers":2,.*"total_completed":1,"total_failed":1,/);
    await push('waits', 'job_3');
    await pool.says(/"processing_workers":1,.*"current_run":"job_3"/);
    pool.child.kill('SIGINT');
    await pool.says(/"event":"stopping"/);
    writeFileSync(join(cwd, 'go-on'), '');
    const { code } = await pool.ended;
    assert.equal(code, 0);
    assert.match(pool.stdout, /\{"event":"stopped","total_completed":2,"total_failed":1\}\n$/);
    assert.equal(pool.stderr, '');
    const tasks = (await call(['tasks', 'list', '--json'])).objects().map(({ state }) => state);
    assert.deepEqual(tasks, ['completed', 'failed', 'completed']);
  });
}

test('a second Ctrl-C gives the run back', async (t) => {
  const { call, cwd } = place(t);
  writeFileSync(join(cwd, 'handler.mjs'), HANDLER);
  const pool = run(t, ['pool', 'run', '--run-handler', 'handler.mjs'], { cwd });
  await pool.says(/A pool of 1 to 4 workers performs the runs in runs on /);
  await call(['push', 'runs', '{"prompt": "waits"}', '--handler', 'run', '--unique', 'job_1']);
  await pool.says(/1 worker: 1 at work, 0 idle; 0 completed, 0 failed/);
  pool.child.kill('SIGINT');
  await pool.says(/press Ctrl-C again/);
  pool.child.kill('SIGINT');
  assert.equal((await pool.ended).code, 130);
  const [task] = (await call(['tasks', 'list', '--json'])).objects();
  // Its handler never looks at its signal. Either it was given back in time, or its lease runs out.
  assert.ok(task?.['state'] === 'ready' || task?.['state'] === 'running');
});

test('a pool without a handler, with two queues or more least than most workers is refused', async (t) => {
  const { call } = place(t);
  const none = await call(['pool', 'run']);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /--run-handler FILE/);
  const url = ['--gateway-url', 'http://127.0.0.1:9'];
  assert.equal((await call(['pool', 'run', ...url, '--queue', 'a', '--queue', 'b'])).code, 2);
  assert.equal((await call(['pool', 'run', ...url, '--min', '5'])).code, 2);
  assert.equal((await call(['pool', 'run', '--gateway-url', 'here'])).code, 2);
});

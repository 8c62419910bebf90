import assert from 'node:assert/strict';
import { test } from 'node:test';
import { place } from './cli-calls.ts';

test('a schedule is set, listed, shown, run, paused, resumed and removed', async (t) => {
  const { call } = place(t);
  const made = await call([
    'schedules',
    'set',
    'nightly',
    'reports',
    '{"of":"sales"}',
    '--daily',
    '03:00',
    '--timezone',
    'Europe/Berlin',
  ]);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /^Set nightly: daily 03:00 in Europe\/Berlin; next \d{4}-\d\d-\d\d \d\d:00:00 \(in /);
  const [row = ''] = (await call(['schedules', 'list'])).lines;
  const [name, state, when, queue, next = '', last] = row.split('\t');
  assert.deepEqual(
    [name, state, when, queue, last],
    ['nightly', 'active', 'daily 03:00 in Europe/Berlin', 'reports', '–'],
  );
  const times = (await call(['schedules', 'next', 'nightly', '--times', '3'])).lines;
  assert.deepEqual([times.length, times[0]], [3, next]);

  const [ran] = (await call(['schedules', 'run', 'nightly', '--json'])).objects();
  const [task] = (await call(['tasks', 'show', String(ran?.id), '--json'])).objects();
  assert.deepEqual(task?.input, { of: 'sales' });
  assert.match((await call(['schedules', 'pause', 'nightly'])).stdout, /^Paused nightly\./);
  const page = await call(['schedules', 'show', 'nightly']);
  assert.match(page.stdout, /^nightly {2}paused\n[^]*if resumed[^]*history +\d[^]* run, ready {2}task_/);
  assert.match((await call(['schedules', 'resume', 'nightly'])).stdout, /^Resumed nightly: next /);
  assert.equal(
    (await call(['schedules', 'remove', 'nightly'])).lines[0],
    'Removed nightly; it was: daily 03:00 in Europe/Berlin.',
  );
  assert.deepEqual((await call(['schedules', 'list'])).lines, []);
});

test('a schedule that cannot be is refused, and one that is not there is not found', async (t) => {
  const { call } = place(t);
  const none = await call(['schedules', 'set', 'nightly', 'reports']);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /one of cron, every, at, daily, weekly, monthly/);
  const never = await call(['schedules', 'set', 'nightly', 'reports', '--cron', '0 0 30 2 *']);
  assert.equal(never.code, 2);
  assert.match(never.stderr, /never fires/);
  const missing = await call(['schedules', 'pause', 'nightly']);
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /"leasehold schedules list" shows the schedules/);
});

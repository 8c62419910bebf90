import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wire } from '../../../../test/support/node-scene.ts';
import { rpcScene } from '../../../../test/support/rpc-scene.ts';

test('a task that is put on a schedule is started by the node, by each form that apflow has', async (t) => {
  const it = await rpcScene(t);
  const forms = {
    once: '2999-01-01T00:00:00Z',
    interval: '3600',
    cron: '0 9 * * 1-5',
    daily: '09:30',
    weekly: 'mon,wed@09:30',
    monthly: '1,15@09:30',
  };
  for (const [schedule_type, schedule_expression] of Object.entries(forms)) {
    await it.call('tasks.create', { id: schedule_type, name: 'echo', inputs: { of: schedule_type } });
    const made = await it.call('tasks.scheduled.init', { task_id: schedule_type, schedule_type, schedule_expression });
    assert.deepEqual(
      [made.task_id, made.name, made.schedule_type, made.schedule_enabled, made.last_run_at],
      [schedule_type, 'echo', schedule_type, true, null],
    );
    assert.ok(Date.parse(made.next_run_at) > Date.now());
    if (schedule_type !== 'once') assert.equal(made.schedule_expression, schedule_expression);
  }
  assert.equal((await it.call('tasks.scheduled.list')).length, 6);
  assert.deepEqual(
    (await it.call('tasks.scheduled.list', { schedule_type: 'weekly' })).map(({ id }: Wire) => id),
    ['weekly'],
  );
  assert.deepEqual(await it.call('tasks.scheduled.due'), []);
  const due = await it.call('tasks.scheduled.due', { before: '2998-01-01T00:00:00Z' });
  assert.deepEqual(due.map(({ id }: Wire) => id).toSorted(), ['cron', 'daily', 'interval', 'monthly', 'weekly']);
  // What it starts is the work of the task, with its inputs.
  const { id } = await it.engine.schedules.run('daily');
  const record = await it.engine.get(it.engine.parseId(id));
  assert.deepEqual([record?.handler, JSON.parse(record?.payload ?? '')], ['echo', { of: 'daily' }]);
  assert.equal((await it.call('tasks.scheduled.complete', { task_id: 'daily' })).last_task, id);
});

test('a schedule that is not enabled fires nothing and is listed when asked for', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', { id: 'later', name: 'echo' });
  const daily = { task_id: 'later', schedule_type: 'daily', schedule_expression: '09:30', timezone: 'Europe/Oslo' };
  const made = await it.call('tasks.scheduled.init', { ...daily, schedule_enabled: false });
  assert.deepEqual(
    [made.schedule_enabled, made.state, made.next_run_at, made.timezone],
    [false, 'paused', null, 'Europe/Oslo'],
  );
  assert.deepEqual(await it.call('tasks.scheduled.list'), []);
  assert.equal((await it.call('tasks.scheduled.list', { enabled_only: false })).length, 1);
  assert.equal((await it.call('tasks.scheduled.init', daily)).schedule_enabled, true);
});

test('what cannot be put on a schedule is refused', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', [
    { id: 'r', name: 'echo' },
    { id: 'a', name: 'echo', parent_id: 'r' },
    { id: 'b', name: 'echo', parent_id: 'r', dependencies: ['a'] },
  ]);
  const init = (params: object): Promise<unknown> =>
    it.refusal('tasks.scheduled.init', { schedule_type: 'daily', schedule_expression: '09:30', ...params });
  assert.equal(await init({ task_id: 'nobody' }), -32001);
  assert.equal(await init({ task_id: 'r' }), -32006, 'it has a tree');
  assert.equal(await init({ task_id: 'b' }), -32006, 'it has a dependency');
  assert.equal(await init({ task_id: 'a', schedule_expression: '25:00' }), -32602);
  assert.equal(await init({ task_id: 'a', schedule_type: 'interval', schedule_expression: '1h' }), -32602);
  assert.equal(await init({ task_id: 'a', schedule_type: 'hourly' }), -32602);
  assert.equal(await it.refusal('tasks.scheduled.complete', { task_id: 'a' }), -32001);
  assert.deepEqual(await it.call('tasks.scheduled.list', { enabled_only: false }), []);
});

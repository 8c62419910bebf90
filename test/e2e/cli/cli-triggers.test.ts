import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { place } from './cli-calls.ts';

test('a trigger is set, listed, fired, shown, turned off and on, and removed', async (t) => {
  const { call } = place(t);
  const made = await call(['triggers', 'set', 'greet', '{"kind":"manual","push":{"queue":"mail"},"input":{"a":1}}']);
  assert.equal(made.code, 0, made.stderr);
  assert.equal(made.stdout, 'Set greet: by hand; push mail.\n');
  const fired = await call(['triggers', 'fire', 'greet', '{"b":2}']);
  const [id = ''] = fired.lines;
  const [task] = (await call(['tasks', 'show', id, '--json'])).objects();
  assert.deepEqual(task?.['input'], { a: 1, b: 2 });
  assert.equal((await call(['triggers', 'disable', 'greet'])).stdout, 'Turned greet off.\n');
  const [row = ''] = (await call(['triggers', 'list'])).lines;
  assert.deepEqual(row.split('\t').slice(0, 6), ['greet', 'off', 'manual', 'by hand', 'push mail', '1']);
  assert.match((await call(['triggers', 'history', 'greet'])).stdout, /by hand {2}pushed, ready {2}task_/);
  assert.match((await call(['triggers', 'show', 'greet'])).stdout, /^greet {2}manual, off\n/);
  const webhook = await call(['triggers', 'set', 'paid', '{"kind":"webhook","push":{"queue":"orders"}}']);
  assert.equal(webhook.code, 2);
  assert.match(webhook.stderr, /only a node can keep the secret of a webhook/);
  assert.equal((await call(['triggers', 'remove', 'greet'])).stdout, 'Removed greet; it was: by hand; push mail.\n');
  assert.equal((await call(['triggers', 'show', 'greet'])).code, 3);
});

test('a trigger_registry.yml of FlatMachines is applied as it stands, and a wrong one is refused with all that is wrong', async (t) => {
  const { call, cwd } = place(t);
  const file = join(cwd, 'trigger_registry.yml');
  writeFileSync(
    file,
    `triggers:
  - name: cron_5min
    type: cron
    schedule: "*/5 * * * *"
    machine: parallelization_checker
    input:
      pool_id: paper_analysis

  - name: local_subprocess
    type: subprocess
    on: work_added  # event name
    machine: parallelization_checker
`,
  );
  const applied = await call(['triggers', 'apply', '-f', file]);
  assert.equal(applied.code, 0, applied.stderr);
  assert.deepEqual(applied.lines, [
    'Set the schedule cron_5min.',
    'Set the trigger local_subprocess: work_added; run parallelization_checker by a process.',
  ]);
  assert.match((await call(['schedules', 'list'])).stdout, /^cron_5min\tactive\tcron \*\/5 \* \* \* \*/);
  writeFileSync(
    file,
    'triggers:\n  - name: A B\n    type: teleport\n  - name: ok\n    type: cron\n    schedule: often\n',
  );
  const refused = await call(['triggers', 'apply', '-f', file]);
  assert.equal(refused.code, 2);
  for (const place of ['triggers[0].type', 'triggers[1].schedule', 'triggers[1].machine']) {
    assert.ok(refused.stderr.includes(place), refused.stderr);
  }
});

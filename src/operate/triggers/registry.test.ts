import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMachineText } from '../../flow/machine/text/machine-text.ts';
import { readRegistry } from './registry.ts';

/** As the design of FlatMachines prints it. */
const REGISTRY = `
triggers:
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
`;

test('the registry of FlatMachines is taken as it stands: its clock is a schedule, its subprocess an event trigger', () => {
  const { triggers, schedules, problems } = readRegistry(parseMachineText(REGISTRY, 'trigger_registry.yml').value);
  assert.deepEqual(problems, []);
  assert.deepEqual(triggers, [
    {
      name: 'local_subprocess',
      kind: 'event',
      on: 'work_added',
      together: true,
      run: { use: 'parallelization_checker' },
      execution: 'process',
    },
  ]);
  const [cron] = schedules;
  assert.deepEqual(
    [schedules.length, cron?.name, cron?.cron, cron?.queue, cron?.handler, cron?.input],
    [
      1,
      'cron_5min',
      '*/5 * * * *',
      'machines',
      'machine',
      { name: 'parallelization_checker', input: { pool_id: 'paper_analysis' } },
    ],
  );
});

test('each type of FlatMachines, and triggers in our own words, have their place in one file', () => {
  const { triggers, problems } = readRegistry({
    triggers: [
      { name: 'hook', type: 'webhook', machine: 'm' },
      { name: 'inline', type: 'in-loop', on: 'task_finished', machine: 'm', input: { a: 1 } },
      { name: 'lambda', type: 'lambda', machine: 'm' },
      { name: 'k3s', type: 'k3s', machine: 'm' },
      { name: 'by-hand', type: 'in_loop', machine: 'm' },
      { name: 'own', kind: 'file', folder: '/data', push: { queue: 'q' }, enabled: false },
    ],
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    triggers.map(({ name, kind, execution }) => [name, kind, execution]),
    [
      ['hook', 'webhook', undefined],
      ['inline', 'event', 'loop'],
      ['lambda', 'manual', undefined],
      ['k3s', 'manual', undefined],
      ['by-hand', 'manual', 'loop'],
      ['own', 'file', undefined],
    ],
  );
});

test('all that is wrong with a registry is told at once, each with its place', () => {
  const places = (value: unknown): readonly string[] => readRegistry(value).problems.map(({ place }) => place);
  assert.deepEqual(places(7), ['triggers']);
  assert.deepEqual(places({ triggers: {} }), ['triggers']);
  const { triggers, schedules, problems } = readRegistry({
    version: 1,
    triggers: [
      'x',
      { name: 'A B', type: 'cron', schedule: 'often', machine: 'm', on: 'work_added' },
      { name: 'c', type: 'cron', machine: '', color: 1 },
      { name: 'd', type: 'teleport', machine: 'm' },
      { name: 'e', type: 'webhook', on: 'work_added', schedule: '* * * * *', machine: 'm' },
      { name: 'e', type: 'subprocess', on: 'sunrise', machine: 'm', input: [] },
      { name: 'g', kind: 'event', on: 'sunrise', enabled: 1, secret: 2 },
      { name: 'h', type: 'cron', schedule: '* * * * *', timezone: 7, machine: 'm' },
    ],
  });
  assert.deepEqual(
    problems.map(({ place }) => place),
    [
      'version',
      'triggers[0]',
      'triggers[1].on',
      'triggers[1].name',
      'triggers[1].schedule',
      'triggers[2].color',
      'triggers[2].machine',
      'triggers[2].schedule',
      'triggers[3].type',
      'triggers[4].schedule',
      'triggers[4].on',
      'triggers[5].name',
      'triggers[5].on',
      'triggers[5].input',
      'triggers[6].on',
      'triggers[6].push',
      'triggers[6].enabled',
      'triggers[6].secret',
      'triggers[7].timezone',
    ],
  );
  assert.deepEqual(
    [triggers.length, schedules.length],
    [1, 0],
    'what is put is decided by the caller, who sees the problems',
  );
});

test('a file with more problems than anybody reads is told of up to a bound', () => {
  const many = { triggers: Array.from({ length: 5000 }, () => 1) };
  assert.equal(readRegistry(many).problems.length, 100);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { fullBucket, takeFrom } from './bucket.ts';
import { fits, inputOf, takes } from './told.ts';
import { checkTrigger, isTogether, type Trigger, triggerProblems, windowOf } from './trigger.ts';

const HOOK = { name: 'a', kind: 'webhook', push: { queue: 'q' } } as const;
const EVENT = { name: 'a', kind: 'event', on: 'work_added', push: { queue: 'q' } } as const;
const FILE = { name: 'a', kind: 'file', folder: '/data', push: { queue: 'q' } } as const;
const fields = (given: unknown): readonly string[] => triggerProblems(given).map(({ field }) => field);

test('a trigger of each kind with each of its fields is fine', () => {
  const all: readonly Trigger[] = [
    { ...HOOK, signature: 'stripe', window: '1m', secret: { env: 'LEASEHOLD_HOOK_A' } },
    { ...HOOK, secret: { sealed: 'x' }, window: 1000 },
    { ...EVENT, queues: ['q'], together: true, tell: false, rate: 1, input: [1] },
    { ...EVENT, on: 'task_finished', states: ['failed'] },
    { ...EVENT, on: 'worker_lost', push: undefined, check: 'papers' },
    { ...FILE, match: '*.pdf', node: 'n1' },
    { ...FILE, folder: 'C:\\data' },
    { name: 'a', kind: 'manual', run: { use: 'm' }, execution: 'process' },
    { name: 'a', kind: 'manual', run: { use: 'm' }, execution: 'task' },
  ];
  for (const one of all) assert.equal(checkTrigger(one), one);
});

test('all that is wrong with a trigger is told at once, each with its field', () => {
  assert.deepEqual(fields(7), ['trigger']);
  assert.deepEqual(fields([]), ['trigger']);
  assert.deepEqual(fields({ name: 'A b', kind: 'cron' }), ['name', 'kind']);
  assert.deepEqual(fields({ ...HOOK, name: 'a'.repeat(51) }), ['name']);
  assert.deepEqual(fields({ ...HOOK, folder: '/x', on: 'work_added', color: 1 }), ['folder', 'on', 'color']);
  const hook = { ...HOOK, signature: 'md5', window: '10ms', secret: { env: 'PATH' }, push: undefined };
  assert.deepEqual(fields(hook), ['signature', 'window', 'secret', 'push']);
  assert.deepEqual(fields({ ...HOOK, window: 'soon', secret: 'x' }), ['window', 'secret']);
  assert.deepEqual(fields({ ...HOOK, window: '2d', secret: { env: 'LEASEHOLD_HOOK_A', sealed: 'x' } }), [
    'window',
    'secret',
  ]);
  assert.deepEqual(fields({ ...EVENT, on: 'sunrise', queues: [], states: ['odd'], together: 1 }), [
    'on',
    'queues',
    'queues',
    'states',
    'states',
    'together',
  ]);
  assert.deepEqual(fields({ ...EVENT, on: 'worker_lost', queues: ['q'] }), ['queues']);
  assert.deepEqual(fields({ ...EVENT, queues: [1], states: ['failed'] }), ['queues', 'states']);
  assert.deepEqual(fields({ ...FILE, folder: 'data', match: 'a/b', node: 1 }), ['folder', 'match', 'node']);
  assert.deepEqual(fields({ ...HOOK, run: 1, check: 'A B', tell: 1, execution: 'x', rate: 0 }), [
    'push',
    'run',
    'check',
    'tell',
    'execution',
    'rate',
  ]);
  assert.deepEqual(fields({ ...HOOK, push: [], execution: 'loop', rate: 1.5 }), ['push', 'execution', 'rate']);
  assert.throws(
    () => checkTrigger({ ...HOOK, rate: -1 }),
    (error) => isEngineError(error, 'INVALID_INPUT'),
  );
});

test('the defaults: five minutes, and one firing for many events only of a check', () => {
  assert.deepEqual([windowOf({}), windowOf({ window: '1m' })], [300_000, 60_000]);
  assert.deepEqual(
    [isTogether({}), isTogether({ check: 'p' }), isTogether({ check: 'p', together: false })],
    [false, true, false],
  );
});

test('an event trigger takes the events that it names', () => {
  const task = {
    seq: 1,
    at: 1,
    queue: 'q',
    change: 'created',
    state: 'ready',
    task: 1,
    attempt: 0,
    createdAt: 1,
  } as const;
  const worker = { seq: 1, at: 1, change: 'registered', worker: 1, name: 'w', createdAt: 1 } as const;
  assert.ok(takes({ on: 'work_added' }, task));
  assert.ok(takes({ on: 'work_added', queues: ['q'] }, task));
  assert.ok(!takes({ on: 'work_added', queues: ['p'] }, task));
  assert.ok(!takes({ on: 'work_added' }, worker));
  assert.ok(!takes({ on: 'task_started' }, task));
  assert.ok(takes({ on: 'task_started' }, { ...task, change: 'claimed', state: 'running' }));
  assert.ok(!takes({ on: 'task_finished' }, task));
  assert.ok(takes({ on: 'task_finished' }, { ...task, change: 'failed', state: 'failed' }));
  assert.ok(!takes({ on: 'task_finished', states: ['completed'] }, { ...task, change: 'failed', state: 'failed' }));
  assert.ok(takes({ on: 'task_finished', states: ['failed'] }, { ...task, change: 'timed_out', state: 'failed' }));
  assert.ok(takes({ on: 'worker_registered' }, worker));
  assert.ok(!takes({ on: 'worker_registered' }, { ...worker, change: 'beat' }));
  assert.ok(!takes({ on: 'worker_registered' }, task));
  assert.ok(!takes({}, task));
});

test('an action is given its input and told what has happened, under a name of its own', () => {
  assert.deepEqual(inputOf({ kind: 'webhook', input: { a: 1 } }, { b: 2 }), { a: 1, body: { b: 2 } });
  assert.deepEqual(inputOf({ kind: 'event' }, 7), { event: 7 });
  assert.deepEqual(inputOf({ kind: 'file', input: { file: 1 }, tell: false }, 7), { file: 1 });
  assert.deepEqual(inputOf({ kind: 'file', input: [1] }, 7), [1], 'a list has no place for it');
  assert.deepEqual(inputOf({ kind: 'manual', input: { a: 1, b: 1 } }, { b: 2 }), { a: 1, b: 2 });
  assert.deepEqual(inputOf({ kind: 'manual', input: { a: 1 } }, 'x'), 'x');
  assert.deepEqual(inputOf({ kind: 'manual', input: { a: 1 } }, undefined), { a: 1 });
});

test('a pattern of names fits as a shell has it, in bounded time', () => {
  for (const [pattern, name] of [
    ['*', 'a.pdf'],
    ['*.pdf', '.pdf'],
    ['a?c*', 'abcdef'],
    ['*a*b*', 'xaybz'],
    ['**', ''],
  ] as const)
    assert.ok(fits(pattern, name), `${pattern} ${name}`);
  for (const [pattern, name] of [
    ['*.pdf', 'a.txt'],
    ['a', 'ab'],
    ['?', ''],
    ['ab', 'a'],
    ['*b', 'bc'],
  ] as const)
    assert.ok(!fits(pattern, name), `${pattern} ${name}`);
  assert.ok(!fits(`${'*a'.repeat(99)}b`, 'a'.repeat(255)));
});

test('a bucket lets a burst through, then so many a second, and a clock that steps back gives nothing', () => {
  const pace = { burst: 2, perSecond: 10 };
  const bucket = fullBucket(pace, 1000);
  assert.deepEqual(
    [1000, 1000, 1000, 1050, 1100, 500, 600].map((now) => takeFrom(bucket, pace, now)),
    [0, 0, 100, 50, 0, 100, 0],
  );
});

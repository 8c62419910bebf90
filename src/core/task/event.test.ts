import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTaskEvent, WORDS, WORKER_CHANGES, wordsOf } from './event.ts';
import { CHANGES, STATES, TRANSITIONS } from './task.ts';

test('every event has its names in other programs, and every such name belongs to an event', () => {
  const words = (change: (typeof CHANGES)[number], state: (typeof STATES)[number]): string =>
    wordsOf({ change, state }).join();
  assert.equal(words('created', 'ready'), 'created');
  assert.equal(words('claimed', 'running'), 'assigned,started,LEASE_GRANTED');
  assert.equal(words('retried', 'scheduled'), 'reassigned');
  assert.equal(words('released', 'ready'), 'reassigned');
  assert.equal(words('expired', 'ready'), 'LEASE_EXPIRED,reassigned');
  assert.equal(words('expired', 'scheduled'), 'LEASE_EXPIRED,reassigned');
  assert.equal(words('expired', 'failed'), 'LEASE_EXPIRED,failed');
  assert.equal(words('expired', 'cancelled'), 'LEASE_EXPIRED,cancelled');
  assert.equal(words('timed_out', 'failed'), 'failed');
  for (const change of ['staged', 'revived', 'cancel_requested', 'parked', 'woken', 'budget_warned'] as const)
    assert.equal(words(change, 'ready'), '');
  const said = new Set([
    ...CHANGES.flatMap((change) => STATES.flatMap((state) => wordsOf({ change, state }))),
    ...WORKER_CHANGES.flatMap((change) => wordsOf({ change })),
  ]);
  for (const word of WORDS) assert.ok(said.has(word), word);
});

test('a task that ends has the name of its end, whatever has ended it', () => {
  for (const [change, { to }] of Object.entries(TRANSITIONS)) {
    for (const state of to) {
      if (state !== 'completed' && state !== 'failed' && state !== 'cancelled') continue;
      assert.ok(wordsOf({ change: change as (typeof CHANGES)[number], state }).includes(state), `${change} ${state}`);
    }
  }
});

test('events of tasks and of workers can be told apart', () => {
  const common = { seq: 1, at: 1, createdAt: 1 };
  assert.equal(isTaskEvent({ ...common, change: 'beat', worker: 1, name: 'w' }), false);
  assert.equal(isTaskEvent({ ...common, change: 'created', task: 1, queue: 'q', state: 'ready', attempt: 0 }), true);
});

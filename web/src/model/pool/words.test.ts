import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkedText,
  courseText,
  decidedText,
  poolState,
  reasonsText,
  staffText,
  startText,
  wouldText,
} from './words.ts';

const NOBODY = { busy: 0, idle: 0, starting: 0, leaving: 0 };

test('reasons are plain words, and one of a later version is shown as it is', () => {
  assert.equal(
    reasonsText(['work', 'at_max']),
    'tasks wait for workers; there is more work than the most workers are there for',
  );
  assert.equal(reasonsText(['full_moon']), 'full moon');
});

test('what a check would do is one sentence with its reasons', () => {
  assert.equal(courseText({ launch: 2, drain: 0, reasons: ['work'] }), 'Start 2 workers: tasks wait for workers.');
  assert.equal(
    courseText({ launch: 0, drain: 1, reasons: ['idle'] }),
    'Send 1 worker home: workers have had no task for long enough.',
  );
  assert.equal(courseText({ launch: 0, drain: 0, reasons: [] }), 'Nothing.');
  assert.equal(
    wouldText({ launch: 0, drain: 0, reasons: ['off'] }),
    'A check would change nothing now: the pool is off.',
  );
  assert.equal(wouldText({ launch: 1, drain: 0, reasons: [] }), 'A check would start 1 worker now.');
  assert.equal(wouldText({ launch: 0, drain: 2, reasons: [] }), 'A check would send 2 workers home now.');
});

test('a decision that another check was faster with does not claim its starts', () => {
  assert.equal(decidedText({ launch: 3, launched: 3, drain: 0, drained: 0 }), 'Started 3 workers');
  assert.equal(
    decidedText({ launch: 3, launched: 1, drain: 0, drained: 0 }),
    'Started 1 worker of 3; another check was faster',
  );
  assert.equal(decidedText({ launch: 3, launched: 0, drain: 0, drained: 0 }), 'Another check was faster');
  assert.equal(decidedText({ launch: 0, launched: 0, drain: 2, drained: 2 }), 'Sent 2 workers home');
  assert.equal(decidedText({ launch: 0, launched: 0, drain: 0, drained: 0 }), 'Nothing');
});

test('a check by hand tells what a launcher said that has failed', () => {
  const checked = { launch: 2, drain: 0, reasons: ['work'], launched: 2, drained: 0 };
  const launches = [
    { outcome: 'started', said: 'process 7' },
    { outcome: 'failed', said: 'no room' },
  ];
  assert.deepEqual(checkedText({ ...checked, launches }), { wrong: true, text: '1 of 2 starts failed: no room' });
  assert.deepEqual(checkedText({ ...checked, launches: launches.slice(0, 1) }), {
    wrong: false,
    text: 'Started 2 workers: tasks wait for workers.',
  });
  assert.equal(
    checkedText({ ...checked, launch: 0, launched: 0, reasons: [], launches: [] }).text,
    'There is nothing to do.',
  );
});

test('a launcher that fails, one that hangs and one that lies are told apart', () => {
  const at = 1_000;
  const text = (ticket: { state: string; started?: string; error?: string }, now = at): string =>
    startText({ at, ...ticket }, now);
  assert.equal(text({ state: 'failed', error: 'no room' }), 'Nothing was started: no room');
  assert.equal(text({ state: 'open' }), 'The launcher is starting it');
  assert.equal(text({ state: 'open' }, at + 20_000), 'The launcher has not answered. Its worker may still come');
  assert.equal(text({ state: 'expired' }), 'The launcher never answered, and no worker came');
  assert.equal(
    text({ state: 'expired', started: 'job-7' }),
    'The launcher said that it started “job-7”, and no worker came',
  );
  assert.equal(text({ state: 'used', started: 'process 7' }), 'Started: process 7');
  assert.equal(text({ state: 'open', started: 'process 7' }), 'Started: process 7. Its worker has not come yet');
});

test('a pool that is off says so before anything else', () => {
  const now = { ...NOBODY, there: 0, want: 0 };
  assert.equal(poolState({ enabled: false, problem: {}, now }).label, 'off');
  assert.equal(poolState({ enabled: true, problem: {}, now }).label, 'starts fail');
  assert.equal(poolState({ enabled: true, now: { ...now, starting: 1, there: 1 } }).label, 'starting');
  assert.equal(poolState({ enabled: true, now: { ...now, idle: 1, there: 1 } }).label, 'working');
  assert.equal(poolState({ enabled: true, now }).label, 'at rest');
  assert.equal(poolState({ enabled: true, now: { ...now, idle: 1, there: 1, want: 3 } }).label, 'too few');
});

test('workers are counted by what they do, and those that are not there are not named', () => {
  assert.equal(staffText({ ...NOBODY, busy: 1200, leaving: 1 }), '1,200 busy, 1 draining');
  assert.equal(staffText(NOBODY), 'no workers');
});

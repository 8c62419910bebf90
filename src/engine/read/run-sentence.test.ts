import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunSituation, runSentence } from './run-sentence.ts';

const HOUR = 3_600_000;
const NOW = 100 * HOUR;
const say = (situation: Partial<RunSituation>): string =>
  runSentence({ state: 'waiting', reason: 'none', members: { waiting: 1 }, ...situation }, NOW);

test('a run that waits says for what, how long, and how its children are', () => {
  const wait = { kind: 'signal', channel: 'approval/42', since: NOW - 3 * HOUR } as const;
  assert.equal(say({ wait }), 'waits for signal approval/42 since 3 h');
  const members = { waiting: 1, running: 2, completed: 3 };
  assert.equal(say({ wait, members }), 'waits for signal approval/42 since 3 h; 2 of 5 children run');
  assert.equal(
    say({ wait: { kind: 'children', since: NOW - 90_000 }, below: wait, members: { waiting: 2, completed: 1 } }),
    'waits for its children since 1 min; 0 of 2 children run; one of them waits for signal approval/42 since 3 h',
  );
  assert.equal(
    say({ wait: { kind: 'approval', title: 'Ship it?', since: NOW - 5000, deadline: NOW + 2 * HOUR } }),
    'waits for a decision (Ship it?) since 5 s, at most 2 h more',
  );
  assert.equal(say({ wait: { kind: 'time', since: NOW, deadline: NOW + 48 * HOUR } }), 'sleeps for 2 d more');
  assert.equal(
    say({ wait: { kind: 'budget', channel: 'budget:7', since: NOW } }),
    'waits since a moment until its budget is raised',
  );
});

test('a run that runs or has ended says so', () => {
  const one = (state: RunSituation['state'], more: Partial<RunSituation> = {}): string =>
    say({ state, members: { [state]: 1 }, ...more });
  assert.equal(one('running', { current: 'write' }), 'runs in the state write');
  assert.equal(one('running', { members: { running: 2 } }), 'runs; 1 of 1 child runs');
  assert.equal(one('running', { cancelRequested: true, cancelledBy: 'ann' }), 'was asked to stop by ann');
  assert.equal(one('completed', { members: { completed: 3 } }), 'has completed; 2 children');
  assert.equal(one('failed', { reason: 'gave_up', current: 'write' }), 'has failed (gave_up) in the state write');
  const failure = { message: 'no disk' };
  assert.equal(
    one('failed', { reason: 'gave_up', current: 'write', failure }),
    'has failed in the state write: no disk',
  );
  assert.equal(one('failed', { reason: 'exhausted', failure }), 'has failed (exhausted): no disk');
  assert.equal(
    one('failed', { reason: 'gave_up', failure: { ...failure, at: 'the node bad' } }),
    'has failed in the node bad: no disk',
  );
  assert.equal(one('cancelled', { cancelReason: 'x' }), 'was cancelled: x');
  assert.equal(one('ready'), 'waits for a worker');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPLETION_TOKEN as TOKEN } from './completion.ts';
import { decisionOn, MOST_REWRITES, SIGNALS, signalOf, type Watched } from './watchdog.ts';

const FINE: Watched = {
  output: 'I wrote the parser and its tests.',
  before: 'I set up the project.',
  mode: 'trailing',
  done: 2,
  doneBefore: 1,
  verified: true,
};
const LONG = 'The build failed again with the same error in the same file, and I could not find out why it does so.';

test('an implementation that went on is no signal', () => {
  assert.equal(signalOf(FINE), undefined);
  assert.equal(signalOf({ ...FINE, before: undefined, done: undefined, doneBefore: undefined }), undefined);
});

test('each signal is seen by itself', () => {
  assert.equal(signalOf({ ...FINE, verified: false }), 'verification_failed');
  assert.equal(signalOf({ ...FINE, output: ' \n' }), 'no_progress');
  assert.equal(signalOf({ ...FINE, done: 1 }), 'no_progress');
  assert.equal(signalOf({ ...FINE, before: LONG, output: `${LONG} ` }), 'repeated_task');
  assert.equal(signalOf({ ...FINE, output: `${TOKEN}\nnearly` }), 'malformed_complete');
});

test('of several signals the most important one counts', () => {
  const all = { ...FINE, before: `${LONG} ${TOKEN} !`, output: `${LONG} ${TOKEN} !`, done: 1 };
  assert.equal(signalOf({ ...all, verified: false }), SIGNALS[0]);
  assert.equal(
    signalOf(all),
    'repeated_task',
    'a token that is malformed is not "none", so that progress is not judged',
  );
  assert.equal(signalOf({ ...all, before: 'another one' }), 'malformed_complete');
});

test('who says that all is done may repeat itself', () => {
  const output = `${LONG}\n${TOKEN}`;
  assert.equal(signalOf({ ...FINE, output, before: output, done: 1 }), undefined);
});

test('a failed verification goes on; anything else has the prompt rewritten, twice at most, and then fails', () => {
  assert.equal(decisionOn('verification_failed', 9), 'continue');
  for (const signal of SIGNALS.slice(1)) {
    const decisions = [0, 1, MOST_REWRITES, 3].map((rewrites) => decisionOn(signal, rewrites));
    assert.deepEqual(decisions, ['rewrite', 'rewrite', 'fail', 'fail']);
  }
});

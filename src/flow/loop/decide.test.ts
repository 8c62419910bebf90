import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPLETION_TOKEN as TOKEN } from './completion.ts';
import { readConfig } from './config.ts';
import type { LoopConfig } from './config-keys.ts';
import { decide, type PhaseEnd, triedAgain } from './decide.ts';
import { contextOf, FIRST, type LoopState, loopStateIn } from './loop-state.ts';
import type { LoopPhase } from './records.ts';

const config = (text = ''): LoopConfig => readConfig(text).config;
let said = 0;
const end = (phase: LoopPhase, more: Partial<PhaseEnd> = {}): PhaseEnd => ({
  phase,
  ok: true,
  output: `another piece of work with the number ${++said} ${'is done '.repeat(said % 7)}`,
  ...more,
});
const COMPLETE = { output: `all done\n${TOKEN}` };
const FAILED = { ok: false, output: 'no' };

/** The state after these ends, and the phases that were asked for. */
function after(ends: readonly PhaseEnd[], text = '', first: LoopState = FIRST): LoopState & { readonly way: string } {
  const way: string[] = [];
  let state = first;
  for (const one of ends) {
    assert.equal(state.next, one.phase, way.join(' '));
    state = decide(state, one, config(text));
    way.push(state.next);
  }
  return { ...state, way: way.join(' ') };
}

test('with a reviewer the phases are implementation, review, verification, and then the next implementation', () => {
  const { way, records } = after([end('implementation'), end('review'), end('verification'), end('implementation')]);
  assert.equal(way, 'review verification implementation review');
  assert.deepEqual(records.at(-1), { phase: 'implementation', attempt: 2, ok: true });
});

test('without a reviewer the verification follows at once', () => {
  assert.equal(after([end('implementation'), end('verification')], 'reviewer=no').way, 'verification implementation');
});

test('a loop that is complete and verified is merged and ends', () => {
  const { way } = after([end('implementation', COMPLETE), end('review'), end('verification'), end('merge')]);
  assert.equal(way, 'review verification merge completed');
});

test('a failed verification sends the work back with notes, which the next implementation has and no later one', () => {
  const failed = after([
    end('implementation', COMPLETE),
    end('review'),
    end('verification', { ok: false, output: 'make: error' }),
  ]);
  assert.deepEqual([failed.next, failed.notes, failed.complete], ['implementation', 'make: error', false]);
  assert.equal(after([end('implementation')], '', failed).notes, '');
});

test('the bound of iterations ends the run with its number', () => {
  const one = [end('implementation'), end('verification')];
  const { next, failure } = after([...one, end('implementation'), end('verification')], 'reviewer=no\niterations=2');
  assert.deepEqual([next, failure], ['failed', 'iteration_limit_reached:2']);
});

test('a loop that is complete with its last iteration is not failed by the bound', () => {
  const ends = [end('implementation', COMPLETE), end('verification'), end('merge')];
  assert.equal(after(ends, 'reviewer=no\niterations=1').next, 'completed');
});

test('verifications that fail too often in a row end the run, and 0 never does', () => {
  const once = (): PhaseEnd[] => [end('implementation'), end('verification', FAILED)];
  const twice = after([...once(), ...once()], 'reviewer=no\nmax_consecutive_verification_failures=2');
  assert.deepEqual([twice.next, twice.failure], ['failed', 'consecutive_verification_failures:2']);
  const often = after(
    [...once(), ...once(), ...once(), ...once()],
    'reviewer=no\nmax_consecutive_verification_failures=0',
  );
  assert.equal(often.next, 'implementation');
});

test('a verification that passes begins the count anew', () => {
  const ends = [
    end('implementation'),
    end('verification', FAILED),
    end('implementation'),
    end('verification'),
    end('implementation'),
    end('verification', FAILED),
  ];
  assert.equal(after(ends, 'reviewer=no\nmax_consecutive_verification_failures=2').next, 'implementation');
});

test('reviews that fail are bounded by themselves, and by default not at all', () => {
  const ends = [
    end('implementation'),
    end('review', FAILED),
    end('verification'),
    end('implementation'),
    end('review', FAILED),
  ];
  assert.equal(after(ends).next, 'verification');
  const bounded = after(ends, 'max_consecutive_review_failures=2');
  assert.deepEqual([bounded.next, bounded.failure], ['failed', 'consecutive_review_failures:2']);
});

test('an implementation or a merge that fails ends the run, and says why', () => {
  const { next, failure } = after([end('implementation', { ok: false, output: '', message: 'no such program' })]);
  assert.deepEqual([next, failure], ['failed', 'implementation_failed: no such program']);
  const merge = after([end('implementation', COMPLETE), end('verification'), end('merge', FAILED)], 'reviewer=no');
  assert.equal(merge.failure, 'merge_failed: no');
});

test('a signal is dealt with by the watchdog once the work is verified: twice by another prompt, then by the end', () => {
  const idle = (): PhaseEnd[] => [end('implementation', { output: '' }), end('verification'), end('watchdog')];
  const first = after(idle(), 'reviewer=no');
  assert.equal(first.way, 'verification watchdog implementation');
  assert.deepEqual([first.rewrites, first.rewrite.length > 0], [1, true]);
  const third = after([...idle(), ...idle(), ...idle()], 'reviewer=no');
  assert.deepEqual([third.next, third.failure, third.rewrites], ['failed', 'watchdog_failed:no_progress', 2]);
});

test('work that was sent back may be done in the same words, and check the same box', () => {
  const same = { output: 'I wrote the parser of the language and all of its tests, as the plan asks for it.', done: 1 };
  const { way } = after(
    [end('implementation', same), end('verification', FAILED), end('implementation', same), end('verification')],
    'reviewer=no',
  );
  assert.equal(way, 'verification implementation verification implementation');
});

test('a failed verification stands before every other signal, and needs no watchdog', () => {
  const state = after([end('implementation', { output: '' }), end('verification', FAILED)], 'reviewer=no');
  assert.deepEqual([state.next, state.signal], ['implementation', undefined]);
});

test('progress is what the plan says, if there is one', () => {
  const ends = [
    end('implementation', { done: 1 }),
    end('verification'),
    end('implementation', { done: 1 }),
    end('verification'),
  ];
  assert.equal(after(ends, 'reviewer=no').next, 'watchdog');
});

test('a run that is tried again has all of its bounds anew, and counts its attempts on', () => {
  const text = 'reviewer=no\niterations=1';
  const failed = after([end('implementation'), end('verification')], text);
  assert.equal(failed.next, 'failed');
  const again = after([end('implementation'), end('verification')], text, triedAgain(failed));
  assert.deepEqual([again.next, again.failure], ['failed', 'iteration_limit_reached:1']);
  assert.equal(again.records.at(-1)?.attempt, 2);
});

test('a state goes through a context and is the same', () => {
  const state = decide(FIRST, end('implementation', { output: '' }), config());
  assert.deepEqual(loopStateIn(JSON.parse(JSON.stringify(contextOf(state))) as Record<string, unknown>), state);
  assert.deepEqual(loopStateIn({}), FIRST);
  assert.deepEqual(loopStateIn({ records: [{ phase: 'x' }, 3], from: -1, next: 'x', signal: 1 }), FIRST);
});

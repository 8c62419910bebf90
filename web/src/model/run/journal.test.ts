import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_JOURNAL, mergeSteps, staleCursors, withPage } from './journal.ts';
import type { Step } from './rows.ts';

function step(key: string, more: Partial<Step> = {}): Step {
  return { task: 'r', key, kind: 'step', name: key, attempt: 1, at: 30, forkable: true, ...more };
}

const child = (key: string, state: string): Step => step(key, { kind: 'child', child: 'c', state });
const keysOf = (steps: readonly Step[]): readonly string[] => steps.map(({ key }) => key);

test('pages come one after the other, and a page that is read again changes nothing if nothing has happened', () => {
  const first = withPage(EMPTY_JOURNAL, undefined, [step('a'), step('b')], 'b');
  assert.equal(first.next, 'b');
  const both = withPage(first, 'b', [step('c')], undefined);
  assert.deepEqual([keysOf(both.steps), both.next], [['a', 'b', 'c'], undefined]);
  assert.equal(withPage(both, 'b', [step('c')], undefined), both);
  assert.equal(withPage(both, undefined, [step('a'), step('b')], 'b'), both);
});

test('what is new comes at the end of the last page, and a full one has a successor', () => {
  const one = withPage(EMPTY_JOURNAL, undefined, [step('a')], undefined);
  const grown = withPage(one, undefined, [step('a'), step('b')], 'b');
  assert.deepEqual([keysOf(grown.steps), grown.next], [['a', 'b'], 'b']);
  assert.equal(grown.steps[0], one.steps[0]);
});

test('what comes between others moves where pages begin: the rest is read again, and nothing leaves meanwhile', () => {
  const both = withPage(withPage(EMPTY_JOURNAL, undefined, [step('a'), step('c')], 'c'), 'c', [step('d')], undefined);
  const moved = withPage(both, undefined, [step('a'), step('b')], 'b');
  assert.deepEqual([[...keysOf(moved.steps)].sort(), moved.next, moved.pages.length], [['a', 'b', 'c', 'd'], 'b', 1]);
  const whole = withPage(moved, 'b', [step('c'), step('d')], undefined);
  assert.deepEqual(
    [[...keysOf(whole.steps)].sort(), whole.next, whole.pages.length],
    [['a', 'b', 'c', 'd'], undefined, 2],
  );
});

test('only entries that differ are replaced', () => {
  const before = [step('a'), child('kid', 'running')];
  const after = mergeSteps(before, [step('a'), child('kid', 'completed')]);
  assert.equal(after[0], before[0]);
  assert.equal(after[1]?.state, 'completed');
});

test('the last page is read again, each that has a child under way, and the others in turn', () => {
  assert.deepEqual(staleCursors(EMPTY_JOURNAL, 0), [undefined]);
  let journal = withPage(EMPTY_JOURNAL, undefined, [child('a', 'running')], 'a');
  journal = withPage(journal, 'a', [step('b')], 'b');
  journal = withPage(journal, 'b', [step('c')], undefined);
  assert.deepEqual(staleCursors(journal, 0), [undefined, 'b']);
  assert.deepEqual(staleCursors(journal, 1), [undefined, 'a', 'b']);
  journal = withPage(journal, undefined, [child('a', 'completed')], 'a');
  assert.deepEqual(staleCursors(journal, 2), ['b']);
});

test('an attempt gives way to the next one', () => {
  const attempt = (n: number): Step => step(`attempt:${n}`, { kind: 'attempt', state: 'running', attempt: n });
  const after = mergeSteps([attempt(1), step('a')], [attempt(2), step('a')]);
  assert.deepEqual([...keysOf(after)].sort(), ['a', 'attempt:2']);
  assert.deepEqual([...keysOf(mergeSteps(after, [step('b')]))].sort(), ['a', 'attempt:2', 'b']);
});

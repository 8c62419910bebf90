import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress } from './progress.ts';

function watched(screen: boolean, total: number | undefined) {
  const said: string[] = [];
  let now = 0;
  const progress = new Progress({
    verb: 'pushed',
    total,
    screen,
    columns: 80,
    write: (text) => said.push(text),
    now: () => now,
  });
  return { said, progress, at: (ms: number) => (now = ms) };
}

test('a terminal gets a bar with rate and time left, drawn over itself and taken away at the end', () => {
  const { said, progress, at } = watched(true, 10_000);
  at(50);
  progress.add(1000);
  assert.deepEqual(said, [], 'not more often than the eye can follow');
  at(1000);
  progress.add(1500);
  assert.deepEqual(said, [`\r\u001b[K${'█'.repeat(6)}${'░'.repeat(18)} pushed 2,500 of 10,000, 2,500/s, 3s left`]);
  progress.end();
  assert.equal(said.at(-1), '\r\u001b[K');
});

test('a pipe gets a line now and then, and nothing when it is over soon', () => {
  const { said, progress, at } = watched(false, undefined);
  at(4000);
  progress.add(400);
  at(5000);
  progress.add(100);
  at(5100);
  progress.add(100);
  progress.end();
  assert.deepEqual(said, ['pushed 500, 100/s\n']);
  assert.equal(progress.done, 600);
});

test('what is all done with its first word shows no bar, however long it took', () => {
  for (const screen of [true, false]) {
    const { said, progress, at } = watched(screen, 1);
    at(60_000);
    progress.add(1);
    progress.end();
    assert.deepEqual(said, []);
  }
});

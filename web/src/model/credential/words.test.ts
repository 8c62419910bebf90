import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choiceText, holderState, holderText, levelText, standing } from './words.ts';

const NONE = { version: 3, workers: [], tags: [], holders: [] };

test('who may hold it is told by names and tags, and many names by their number', () => {
  assert.equal(choiceText(NONE), 'nobody');
  assert.equal(choiceText({ workers: ['a', 'b'], tags: [] }), 'a, b');
  assert.equal(choiceText({ workers: ['a'], tags: ['gpu', 'eu'] }), 'a and whoever has gpu or eu');
  assert.equal(choiceText({ workers: ['a', 'b', 'c', 'd'], tags: [] }), '4 workers');
});

test('each worker says which version it has, and which it is to get', () => {
  const cases = [
    [{ status: 'stored', wanted: 3, acked: 3 }, 'online', 'has version 3'],
    [{ status: 'stored', wanted: 3, acked: 2 }, 'starting', 'has version 2, is to get version 3'],
    [{ status: 'wanted', wanted: 3 }, 'starting', 'is to get version 3'],
    [{ status: 'removing', wanted: 3 }, 'draining', 'is to remove it'],
    [{ status: 'removed', wanted: 3 }, 'offline', 'has removed it'],
    [{ status: 'failed', wanted: 3 }, 'failed', 'could not take it'],
  ] as const;
  for (const [holder, state, text] of cases) assert.deepEqual([holderState(holder), holderText(holder)], [state, text]);
});

test('as a whole it stands where its worst worker does', () => {
  const stored = { status: 'stored', wanted: 3, acked: 3 };
  const of = (...holders: { status: string; wanted: number; acked?: number }[]) =>
    standing({ ...NONE, workers: ['a'], holders }).label;
  assert.equal(of(stored), '1 worker has version 3');
  assert.equal(of(stored, stored), '2 workers have version 3');
  assert.equal(of(stored, { status: 'wanted', wanted: 3 }), '1 worker is to hear of it');
  assert.equal(
    of(stored, { status: 'wanted', wanted: 3 }, { status: 'failed', wanted: 3 }),
    '1 worker could not take it',
  );
  assert.equal(of({ status: 'removed', wanted: 3 }), 'no worker of these is there');
  assert.equal(standing(NONE).label, 'nobody may hold it');
});

test('a level that is not known yet, or not here, is told as what it is', () => {
  assert.equal(levelText(undefined), 'not said yet');
  assert.equal(levelText('file'), 'in files that only its user can read');
  assert.equal(levelText('vault-9'), 'vault-9');
});

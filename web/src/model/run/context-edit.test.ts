import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf, draftsOf, newDraft } from './context-edit.ts';

const drafts = draftsOf({ score: 7, title: 'On bees', notes: ['a'], machine: { step: 3 } });
const edited = (i: number, text: string) => drafts.map((draft, at) => (at === i ? { ...draft, text } : draft));

test('what nobody touches is no change', () => {
  assert.deepEqual(changesOf(drafts), { changes: {}, count: 0, problems: new Map() });
});

test('an entry with another value is a change, and one that is removed is null', () => {
  const gone = edited(0, '9').map((draft, i) => (i === 2 ? { ...draft, removed: true } : draft));
  assert.deepEqual(changesOf(gone).changes, { score: 9, notes: null });
});

test('a new entry needs a name of its own and JSON', () => {
  const add = (name: string, text: string) => changesOf([...drafts, { ...newDraft(), name, text }]);
  assert.deepEqual(add('tone', '"warm"').changes, { tone: 'warm' });
  assert.deepEqual(add('', '').count, 0);
  assert.match(add('', '1').problems.get(3) ?? '', /name/);
  assert.match(add('score', '1').problems.get(3) ?? '', /Another/);
  assert.match(add('tone', 'warm').problems.get(3) ?? '', /not JSON/);
});

test('null is not a value, since it takes away', () => {
  assert.match(changesOf(edited(0, 'null')).problems.get(0) ?? '', /remove/);
});

test('a context that is no object has nothing to edit', () => {
  assert.deepEqual([draftsOf(undefined), draftsOf([1]), draftsOf('x')], [[], [], []]);
});

test('what a machine knows of itself is not edited', () => {
  assert.deepEqual(
    drafts.map(({ name }) => name),
    ['score', 'title', 'notes'],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fileFilterOf,
  NO_FILE_FILTER,
  newOnes,
  queryOfFiles,
  requestOfFiles,
  withField,
  withNewest,
  withOlder,
} from './list.ts';

const rows = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const idsOf = (all: readonly { readonly id: string }[]): string => all.map(({ id }) => id).join('');

test('a filter comes from an address and goes back into it', () => {
  assert.deepEqual(fileFilterOf(''), NO_FILE_FILTER);
  const filter = fileFilterOf('run=task_1&name=out%2Freport.json&other=x');
  assert.deepEqual(filter, { task: '', run: 'task_1', name: 'out/report.json' });
  assert.equal(queryOfFiles(filter), 'run=task_1&name=out%2Freport.json');
  assert.deepEqual(requestOfFiles(filter), { run: 'task_1', name: 'out/report.json' });
});

test('a filter has a task or a run, and the one that is written last takes the place of the other', () => {
  assert.deepEqual(fileFilterOf('task=t&run=r'), { task: 't', run: '', name: '' });
  const byTask = withField({ task: '', run: 'r', name: 'n' }, 'task', ' t ');
  assert.deepEqual(byTask, { task: 't', run: '', name: 'n' });
  assert.deepEqual(withField(byTask, 'run', 'r'), { task: '', run: 'r', name: 'n' });
  assert.deepEqual(withField(byTask, 'run', ''), byTask);
  assert.deepEqual(withField(byTask, 'name', ''), { task: 't', run: '', name: '' });
});

test('the first page read again brings what is new and takes what is gone, and what is older stays', () => {
  const before = rows('d', 'c', 'b', 'a');
  const { rows: after, goesOn } = withNewest(before, rows('e', 'd', 'b'), false);
  assert.equal(idsOf(after), 'edba');
  assert.equal(goesOn, true);
  assert.equal(after.at(-1), before.at(-1));
});

test('a list in which nothing has changed is the same one', () => {
  const before = rows('c', 'b', 'a');
  assert.equal(withNewest(before, rows('c', 'b'), false).rows, before);
  assert.equal(withNewest(before, rows('c', 'b', 'a'), true).rows, before);
});

test('a page that has all there are leaves nothing besides', () => {
  const { rows: after, goesOn } = withNewest(rows('c', 'b', 'a'), rows('c', 'b'), true);
  assert.equal(idsOf(after), 'cb');
  assert.equal(goesOn, false);
  assert.equal(withNewest(rows('a'), [], true).rows.length, 0);
});

test('a page that has nothing of what was shown begins the list anew, so that nothing is missing between', () => {
  const { rows: after, goesOn } = withNewest(rows('b', 'a'), rows('z', 'y'), false);
  assert.equal(idsOf(after), 'zy');
  assert.equal(goesOn, false);
});

test('when the last one of the page was removed meanwhile, the page goes on behind the last that is known', () => {
  // "c" is gone, so "b" has come up into the page.
  const { rows: after, goesOn } = withNewest(rows('d', 'c', 'b', 'a'), rows('d', 'b'), false);
  assert.equal(idsOf(after), 'dba');
  assert.equal(goesOn, true);
});

test('the next page is added without what is there already, and new ones are counted', () => {
  assert.equal(idsOf(withOlder(rows('c', 'b'), rows('b', 'a'))), 'cba');
  assert.equal(newOnes(rows('c', 'b'), rows('e', 'd', 'c')), 2);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesSearch, workerRows } from './worker-rows.ts';

const worker = (id: string, name: string, state: string, more = {}) => ({
  id,
  name,
  state,
  enabled: true,
  priority: 0,
  tags: [] as string[],
  lastSeenAt: 1,
  ...more,
});
const keys = (...args: Parameters<typeof workerRows>): string =>
  workerRows(...args)
    .map(({ key }) => key)
    .join(' ');

test('of a name under which somebody lives the dead are not shown', () => {
  assert.equal(keys([worker('1', 'a', 'lost'), worker('2', 'a', 'online'), worker('3', 'a', 'online')], []), '2 3');
});

test('of a name under which nobody lives the last one is shown', () => {
  assert.equal(
    keys([worker('1', 'a', 'lost', { lastSeenAt: 5 }), worker('2', 'a', 'offline', { lastSeenAt: 9 })], []),
    '2',
  );
});

test('who works comes first, the important ones before the others, and names that nobody has last', () => {
  const rows = [
    worker('1', 'b', 'offline'),
    worker('2', 'c', 'online'),
    worker('3', 'd', 'online', { priority: 5 }),
    worker('4', 'e', 'lost'),
  ];
  assert.equal(
    keys(rows, [
      { name: 'new', enabled: true, tags: ['gpu'] },
      { name: 'b', enabled: true, tags: [] },
    ]),
    '3 2 4 1 name new',
  );
});

test('a word is looked for in name, state, host and tags', () => {
  const [row] = workerRows([worker('1', 'box', 'online', { host: 'Attic', tags: ['gpu=nvidia'] })], []);
  assert.ok(row);
  assert.deepEqual(
    ['BOX', 'attic', 'nvidia', 'online', 'cellar'].map((word) => matchesSearch(row, word)),
    [true, true, true, true, false],
  );
});

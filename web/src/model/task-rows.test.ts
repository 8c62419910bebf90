import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FILTER } from './filter.ts';
import { changeRows, emptyRows, rowOf, type TaskRow, type TaskRows } from './task-rows.ts';

function row(n: number, more: Partial<TaskRow> = {}): TaskRow {
  const task = {
    id: `task_${String(n).padStart(6, '0')}`,
    queue: 'q',
    handler: 'h',
    state: 'ready',
    input: n,
    priority: 0,
  };
  return { ...rowOf({ ...task, attempt: 0, tries: 0, maxAttempts: 3, createdAt: n }), ...more };
}
const ids = (list: TaskRows): string => list.rows.map(({ id }) => Number(id.slice(5))).join(' ');
const id = (n: number): string => row(n).id;
const loaded = (rows: readonly TaskRow[], cursor?: string, filter = NO_FILTER): TaskRows =>
  changeRows(emptyRows(filter), { type: 'page', rows, cursor, first: true });
const created = (n: number, more = {}) => ({ task: id(n), kind: 'created', queue: 'q', state: 'ready', ...more });

test('pages follow each other, and a task that comes twice stands once', () => {
  const list = changeRows(loaded([row(9), row(8)], id(8)), {
    type: 'page',
    rows: [row(8), row(7)],
    cursor: undefined,
    first: false,
  });
  assert.equal(ids(list), '9 8 7');
  assert.equal(list.cursor, undefined);
});

test('a task that was created is an arrival until it was looked at', () => {
  const told = changeRows(loaded([row(2)], id(2)), { type: 'events', events: [created(3)] });
  assert.deepEqual([...told.arrivals], [id(3)]);
  const list = changeRows(told, { type: 'read', ids: [id(3)], rows: [row(3)] });
  assert.equal(ids(list), '3 2');
  assert.equal(list.arrivals.size, 0);
});

test('an event of a task further down than the list reaches adds nothing', () => {
  const list = loaded([row(9)], id(9));
  assert.equal(
    changeRows(list, { type: 'events', events: [{ task: id(1), kind: 'completed', queue: 'q', state: 'completed' }] }),
    list,
  );
  const told = changeRows(list, { type: 'read', ids: [id(1)], rows: [row(1)] });
  assert.equal(ids(told), '9');
});

test('a task that comes into the state that is asked for arrives, and leaves with it', () => {
  const filter = { ...NO_FILTER, state: ['running' as const] };
  const told = changeRows(loaded([row(5, { state: 'running' })], undefined, filter), {
    type: 'events',
    events: [{ task: id(4), kind: 'claimed', queue: 'q', state: 'running' }],
  });
  const list = changeRows(told, { type: 'read', ids: [id(4)], rows: [row(4, { state: 'running' })] });
  assert.equal(ids(list), '5 4');
  assert.equal(ids(changeRows(list, { type: 'read', ids: [id(5)], rows: [row(5, { state: 'completed' })] })), '4');
});

test('while it is frozen rows are patched in place, none comes and none goes, and arrivals are counted', () => {
  const filter = { ...NO_FILTER, state: ['ready' as const] };
  let list = changeRows(loaded([row(2), row(1)], undefined, filter), { type: 'freeze', frozen: true });
  list = changeRows(list, { type: 'events', events: [created(3), created(4)] });
  list = changeRows(list, { type: 'read', ids: [id(2), id(1)], rows: [row(2, { state: 'running' })] });
  assert.equal(ids(list), '2 1');
  assert.equal(list.rows[0]?.state, 'running');
  assert.equal(list.arrivals.size, 2);
});

test('what nobody asks for is no arrival', () => {
  const list = loaded([row(2)], undefined, { ...NO_FILTER, queue: ['other'] });
  assert.equal(changeRows(list, { type: 'events', events: [created(3)] }), list);
});

test('a flood asks for the first page instead of for each task', () => {
  const events = Array.from({ length: 1000 }, (_, i) => created(i + 10));
  const list = changeRows(loaded([row(2)], id(2)), { type: 'events', events });
  assert.equal(list.flooded, true);
  assert.equal(list.arrivals.size, 200);
  const again = changeRows(list, { type: 'page', rows: [row(1009)], cursor: id(1009), first: true });
  assert.deepEqual([again.flooded, again.arrivals.size, ids(again)], [false, 0, '1009']);
});

test('rows that did not change stay the same objects', () => {
  const first = loaded([row(2), row(1)]);
  const again = changeRows(first, {
    type: 'page',
    rows: [row(2), row(1, { state: 'running' })],
    cursor: undefined,
    first: true,
  });
  assert.equal(again.rows[0], first.rows[0]);
  assert.notEqual(again.rows[1], first.rows[1]);
  assert.equal(changeRows(first, { type: 'read', ids: [id(2)], rows: [row(2)] }), first);
});

test('a list at its top does not grow without end', () => {
  let list = loaded([row(0)]);
  for (let n = 1; n <= 3000; n++) list = changeRows(list, { type: 'read', ids: [id(n)], rows: [row(n)] });
  assert.ok(list.rows.length <= 1200);
  assert.equal(list.rows[0]?.id, id(3000));
  assert.equal(list.cursor !== undefined, true, 'the rest is read again by scrolling');
});

test('arrivals stand newest first, in whatever order they were looked at', () => {
  const told = changeRows(loaded([]), { type: 'events', events: [created(3), created(5), created(4)] });
  assert.equal(
    ids(changeRows(told, { type: 'read', ids: [id(4), id(5), id(3)], rows: [row(4), row(5), row(3)] })),
    '5 4 3',
  );
});

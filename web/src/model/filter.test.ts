import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  filterOfQuery,
  filterText,
  matches,
  NO_FILTER,
  parseTyped,
  queryOfFilter,
  requestOf,
  toggled,
} from './filter.ts';

test('a filter goes into an address and comes back', () => {
  const filter = { state: ['failed', 'running'], queue: ['a&b', 'c d'], handler: ['x=1'], from: 5, until: 9 } as const;
  assert.deepEqual(filterOfQuery(queryOfFilter(filter)), filter);
  assert.deepEqual(filterOfQuery(queryOfFilter({ ...NO_FILTER, last: '6h' })), { ...NO_FILTER, last: '6h' });
  assert.equal(queryOfFilter(NO_FILTER), '');
});

test('what makes no sense in an address is left out', () => {
  assert.deepEqual(filterOfQuery('state=odd&state=failed&state=failed&from=-1&until=1e9&last=__proto__&queue='), {
    ...NO_FILTER,
    state: ['failed'],
  });
});

test('fixed times win over a time that goes on', () => {
  assert.deepEqual(filterOfQuery('from=7&last=1h'), { ...NO_FILTER, from: 7 });
});

test('the server is asked for a time before now', () => {
  assert.deepEqual(requestOf({ ...NO_FILTER, last: '15m' }, 1_000_000), { from: 100_000 });
  assert.deepEqual(requestOf({ ...NO_FILTER, state: ['ready'], until: 3 }, 0), { state: ['ready'], until: 3 });
});

test('a person reads what would be done to which tasks', () => {
  assert.equal(filterText(NO_FILTER), 'every task');
  assert.equal(
    filterText({ state: ['failed', 'cancelled'], queue: ['mail'], handler: [], last: '1h' }),
    'state = failed or cancelled, queue = mail, created in the last 1h',
  );
});

test('a task is matched by what is known of it', () => {
  const filter = { ...NO_FILTER, queue: ['a'], handler: ['h'], from: 10 };
  assert.equal(matches(filter, { state: 'ready', queue: 'a' }), true);
  assert.equal(matches(filter, { state: 'ready', queue: 'a', handler: 'i' }), false);
  assert.equal(matches(filter, { state: 'ready', queue: 'a', handler: 'h', createdAt: 9 }), false);
  assert.equal(matches({ ...filter, state: ['failed'] }, { state: 'ready', queue: 'a' }), false);
});

test('what is typed is a pair, an id or a text', () => {
  assert.deepEqual(parseTyped(' State : failed '), { kind: 'filter', name: 'state', value: 'failed' });
  assert.deepEqual(parseTyped('queue=a b'), { kind: 'filter', name: 'queue', value: 'a b' });
  const id = 'task_01a1de00-1c2a-7000-8000-00000d79a779';
  assert.deepEqual(parseTyped(id), { kind: 'task', id });
  assert.deepEqual(parseTyped('mail'), { kind: 'text', text: 'mail' });
});

test('a value is switched on and off', () => {
  const on = toggled(NO_FILTER, 'queue', 'a');
  assert.deepEqual(on.queue, ['a']);
  assert.deepEqual(toggled(on, 'queue', 'a').queue, []);
});

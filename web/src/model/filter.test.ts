import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  actionName,
  filterOfQuery,
  filterText,
  matches,
  NO_FILTER,
  parseTyped,
  problemOf,
  queryOfFilter,
  requestOf,
  toggled,
  unknownInQuery,
  withParts,
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

const KNOWN = { queues: ['send-mail', 'crawl'], handlers: ['echo', 'ns:job'] };

test('several words are one filter', () => {
  assert.deepEqual(parseTyped('failed queue:send-mail', KNOWN), {
    kind: 'filter',
    parts: [
      { name: 'state', value: 'failed' },
      { name: 'queue', value: 'send-mail' },
    ],
  });
  assert.deepEqual(parseTyped(' State : failed  crawl handler=ns:job last:1h', KNOWN), {
    kind: 'filter',
    parts: [
      { name: 'state', value: 'failed' },
      { name: 'queue', value: 'crawl' },
      { name: 'handler', value: 'ns:job' },
      { name: 'last', value: '1h' },
    ],
  });
  // A queue that has no task yet is understood as well.
  assert.deepEqual(parseTyped('queue:new', KNOWN), { kind: 'filter', parts: [{ name: 'queue', value: 'new' }] });
});

test('what is not understood is named, and nothing of the rest is used', () => {
  assert.deepEqual(parseTyped('failed queu:send-mail', KNOWN), { kind: 'unknown', words: ['queu:send-mail'] });
  assert.deepEqual(parseTyped('failed send mail', KNOWN), { kind: 'unknown', words: ['send', 'mail'] });
  assert.deepEqual(parseTyped('state:odd', KNOWN), { kind: 'unknown', words: ['state:odd'] });
  assert.deepEqual(parseTyped('queue:', KNOWN), { kind: 'unknown', words: ['queue:'] });
  assert.match(problemOf(['a', 'b']), /^“a”, “b” are not understood\./);
});

test('one word may be an id, or become something', () => {
  const id = 'task_01a1de00-1c2a-7000-8000-00000d79a779';
  assert.deepEqual(parseTyped(id), { kind: 'task', id });
  assert.deepEqual(parseTyped('mail'), { kind: 'text', text: 'mail' });
  assert.deepEqual(parseTyped(''), { kind: 'text', text: '' });
});

test('typed values are added, and one that is there stays', () => {
  const filter = { ...NO_FILTER, state: ['failed'], from: 3 } as const;
  const parts = [
    { name: 'state', value: 'failed' },
    { name: 'queue', value: 'a' },
    { name: 'last', value: '1h' },
  ] as const;
  assert.deepEqual(withParts(filter, parts), { ...NO_FILTER, state: ['failed'], queue: ['a'], last: '1h' });
});

test('the parts of an address that make no sense are named', () => {
  assert.deepEqual(unknownInQuery('state=failed&queue=a&from=5&until=9'), []);
  assert.deepEqual(unknownInQuery('state=odd&sate=failed&from=-1&last=2y&queue='), [
    'state=odd',
    'sate=failed',
    'from=-1',
    'last=2y',
    'queue=',
  ]);
});

test('a part of an address that would not count beside another one is named', () => {
  assert.deepEqual(unknownInQuery('from=5&last=1h'), ['last=1h']);
  assert.deepEqual(unknownInQuery('last=1h&last=7d'), ['last=1h', 'last=7d']);
  assert.deepEqual(unknownInQuery('until=1&until=2'), ['until=1', 'until=2']);
  const queues = (n: number): string => Array.from({ length: n }, (_, i) => `queue=q${i}`).join('&');
  assert.deepEqual(unknownInQuery(queues(50)), []);
  assert.equal(unknownInQuery(queues(51)).length, 51);
});

test('an action names the number and the kind of its tasks', () => {
  const mail = { ...NO_FILTER, state: ['failed'], queue: ['send-mail'] } as const;
  assert.equal(actionName('retry', 12, mail), 'Run 12 failed tasks of queue send-mail again');
  assert.equal(actionName('retry', 4741, NO_FILTER), 'Run 4,741 finished tasks again');
  assert.equal(
    actionName('cancel', 1, { ...NO_FILTER, state: ['ready', 'waiting'], handler: ['echo'], last: '1h' }),
    'Cancel 1 ready or waiting task with handler echo created in the last 1h',
  );
  assert.equal(actionName('retry', 3, undefined), 'Run 3 selected tasks again');
});

test('a value is switched on and off', () => {
  const on = toggled(NO_FILTER, 'queue', 'a');
  assert.deepEqual(on.queue, ['a']);
  assert.deepEqual(toggled(on, 'queue', 'a').queue, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listsOf } from './lists.ts';
import { NOW, testModel, testTask, testWorker } from './test-model.ts';

test('a filter leaves what has the text anywhere, in any case', () => {
  const keys = (filter: string): Record<string, number> => {
    const { queues, workers, tasks, limits, events } = listsOf(testModel(), filter);
    return {
      queues: queues.length,
      workers: workers.length,
      tasks: tasks.length,
      limits: limits.length,
      events: events.length,
    };
  };
  assert.deepEqual(keys(''), { queues: 2, workers: 2, tasks: 3, limits: 1, events: 3 });
  assert.deepEqual(keys(' PAPERS '), { queues: 1, workers: 0, tasks: 3, limits: 0, events: 2 });
  assert.deepEqual(keys('gpu'), { queues: 0, workers: 1, tasks: 0, limits: 0, events: 1 });
  assert.deepEqual(keys('paused'), { queues: 1, workers: 0, tasks: 0, limits: 0, events: 0 });
});

test('what has run longest comes first', () => {
  const tasks = [testTask('b', { startedAt: NOW - 1 }), testTask('a', { startedAt: NOW - 9 })];
  assert.deepEqual(
    listsOf(testModel({ tasks }), '').tasks.map(({ key }) => key),
    ['a', 'b'],
  );
});

test('of a name all that live are listed, else only who was seen last; the living first', () => {
  const workers = [
    testWorker('b', { id: 'b-old', state: 'offline', lastSeenAt: NOW - 9 }),
    testWorker('b', { id: 'b-1' }),
    testWorker('b', { id: 'b-2', state: 'draining' }),
    testWorker('a', { id: 'a-old', state: 'offline', lastSeenAt: NOW - 9 }),
    testWorker('a', { id: 'a-new', state: 'lost', lastSeenAt: NOW - 5 }),
  ];
  assert.deepEqual(
    listsOf(testModel({ workers }), '').workers.map(({ key }) => key),
    ['b-1', 'b-2', 'a-new'],
  );
});

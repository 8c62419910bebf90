import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskCounts } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { histogram, MOST_TASKS } from './histogram.ts';

const ALL = { queues: [], handlers: [], states: [] };
const page = (looked: number, last: number, counts: TaskCounts['counts'] = []): TaskCounts => ({
  counts,
  looked,
  last,
});

/** A store that answers these pages, one after the other. */
function pages(...answers: readonly TaskCounts[]) {
  const asked: (number | undefined)[] = [];
  const taskCount = ({ before }: { before?: number | undefined }): Promise<TaskCounts> => {
    asked.push(before);
    return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] as TaskCounts);
  };
  return { asked, taskCount };
}

test('counts of several pages are added up, until a page is not full', async () => {
  const store = pages(
    page(5000, 900, [{ bucket: 1, state: 'ready', tasks: 3 }]),
    page(4000, 100, [
      { bucket: 1, state: 'ready', tasks: 2 },
      { bucket: 0, state: 'failed', tasks: 1 },
    ]),
  );
  const answer = await histogram(store, new VirtualWorld(), { ...ALL, from: 0, until: 100, buckets: 2 });
  assert.deepEqual(store.asked, [undefined, 900]);
  assert.deepEqual([answer.stepMs, answer.counted, answer.cut], [50, 6, false]);
  assert.deepEqual(
    answer.buckets.map(({ ready, failed }) => [ready, failed]),
    [
      [0, 1],
      [5, 0],
    ],
  );
});

test('a time range that does not divide evenly has no empty bucket at its end, and a short one has whole milliseconds', async () => {
  const empty = { ...ALL, buckets: 60 };
  const odd = await histogram(pages(page(0, 0)), new VirtualWorld(), { ...empty, from: 0, until: 61 });
  assert.deepEqual([odd.stepMs, odd.buckets.length], [2, 31]);
  const short = await histogram(pages(page(0, 0)), new VirtualWorld(), { ...empty, from: 5, until: 8 });
  assert.deepEqual([short.stepMs, short.buckets.length], [1, 3]);
});

test('it ends after a hundred thousand tasks, or after a second, and says so', async () => {
  const world = new VirtualWorld();
  const many = pages(page(5000, 7, [{ bucket: 0, state: 'ready', tasks: 5000 }]));
  const all = await histogram(many, world, { ...ALL, from: 0, until: 10, buckets: 1 });
  assert.deepEqual([all.counted, all.cut, many.asked.length], [MOST_TASKS, true, 20]);
  const slow = pages(page(5000, 7));
  const taskCount: typeof slow.taskCount = (query) => {
    world.elapse(400);
    return slow.taskCount(query);
  };
  const cut = await histogram({ taskCount }, world, { ...ALL, from: 0, until: 10, buckets: 1 });
  assert.deepEqual([cut.cut, slow.asked.length], [true, 3]);
});

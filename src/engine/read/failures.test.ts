import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { groupFailures } from './failures.ts';

const NOTHING: ReadonlySet<string> = new Set();

/** A store with these failures, the newest first. */
function having(count: number, make: (task: number) => Partial<Failure>) {
  let reads = 0;
  const failureList = ({ before = count + 1, limit }: { before?: number | undefined; limit: number }) => {
    reads++;
    const tasks = Array.from({ length: Math.min(limit, before - 1) }, (_, i) => before - 1 - i);
    return Promise.resolve(
      tasks.map((task) => ({
        task,
        queue: 'q',
        handler: 'h',
        reason: 'gave_up' as const,
        createdAt: task,
        endedAt: task * 10,
        error: undefined,
        ...make(task),
      })),
    );
  };
  return { failureList, reads: () => reads };
}

test('similar errors are one group, the largest first', async () => {
  const store = having(9, (task) => ({
    error: JSON.stringify({ message: task % 3 === 0 ? `no user "u${task}"` : `timeout after ${task} ms` }),
    queue: `q${task % 2}`,
    handler: `h${task % 2}`,
  }));
  const { groups, looked, cut } = await groupFailures(store, new VirtualWorld(), NOTHING);
  assert.deepEqual([looked, cut], [9, false]);
  assert.deepEqual(
    groups.map(({ pattern, message, tasks, firstAt, lastAt }) => [pattern, message, tasks, firstAt, lastAt]),
    [
      ['timeout after <n> ms', 'timeout after 8 ms', 6, 10, 80],
      ['no user <word>', 'no user "u9"', 3, 30, 90],
    ],
  );
  assert.deepEqual(groups[0]?.queues, ['q0', 'q1']);
  assert.deepEqual(groups[0]?.handlers, ['h0', 'h1']);
  assert.deepEqual(
    groups[0]?.newest.map(({ task }) => task),
    [8, 7, 5, 4, 2, 1],
  );
});

test('only the newest five thousand failures are read, and at most 500 of a group are named', async () => {
  const store = having(7000, () => ({}));
  const { groups, looked, cut } = await groupFailures(store, new VirtualWorld(), NOTHING);
  assert.deepEqual([looked, cut, groups.length], [5000, true, 1]);
  assert.deepEqual([groups[0]?.tasks, groups[0]?.newest.length, groups[0]?.newest[0]?.task], [5000, 500, 7000]);
});

test('failures of some queues are searched among many more, up to a bound', async () => {
  const store = having(30_000, (task) => ({ queue: task % 100 === 0 ? 'rare' : 'q' }));
  const { looked, cut } = await groupFailures(store, new VirtualWorld(), new Set(['rare']));
  assert.deepEqual([looked, cut, store.reads()], [200, true, 40]);
});

test('names and groups are bounded, whatever comes', async () => {
  const store = having(1000, (task) => ({ error: `"${'x'.repeat(task)}y"`, queue: `q${task}`, handler: `h${task}` }));
  const all = await groupFailures(store, new VirtualWorld(), NOTHING);
  assert.deepEqual([all.groups.length, all.cut], [200, true]);
  const alike = having(1000, (task) => ({ queue: `q${task}`, handler: `h${task}` }));
  const [group] = (await groupFailures(alike, new VirtualWorld(), NOTHING)).groups;
  assert.deepEqual([group?.queues.length, group?.handlers.length], [50, 50]);
});

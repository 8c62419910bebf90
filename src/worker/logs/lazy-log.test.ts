import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogEntry } from '../../core/task/log.ts';
import type { Assignment } from '../../protocol/link.ts';
import { VirtualWorld } from '../../testing.ts';
import { LazyLog } from './lazy-log.ts';

const LEASE = { task: 1, attempt: 1 } as Assignment;

test('a log that nobody writes to costs nothing', async () => {
  const world = new VirtualWorld();
  const log = new LazyLog({ world, session: { log: () => assert.fail('there is nothing to ship') } }, LEASE);
  await log.flush();
  assert.equal(log.used, false);
  assert.deepEqual(world.waits, []);
});

test('lines and progress are shipped in order, with the time of the calendar', async () => {
  const world = new VirtualWorld();
  const shipped: LogEntry[] = [];
  const log = new LazyLog({ world, session: { log: async (_, entries) => void shipped.push(...entries) } }, LEASE);
  log.line('log', 'one');
  log.progress({ n: 2 });
  assert.equal(log.used, true);
  const flushed = log.flush();
  await world.advance(100);
  await flushed;
  const at = world.clock.wall() - 100;
  assert.deepEqual(shipped, [
    { seq: 1, at, stream: 'log', text: 'one' },
    { seq: 2, at, stream: 'progress', text: '{"n":2}' },
  ]);
});

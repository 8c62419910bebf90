import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import { openSqlite } from './open.ts';

const DAY = 86_400_000;

test('an event from the time when the clock was a year ahead does not keep those that follow it', async () => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  assert.ok(lane && spec);
  const push = async (): Promise<void> => {
    await store.taskPush({ items: [{ lane: lane.id, spec, priority: 0, maxTries: 1, payload: '1' }] });
  };
  world.jump(365 * DAY);
  await push();
  world.jump(-365 * DAY);
  for (let n = 0; n < 20; n++) await push();
  const duty = await store.dutyTake({ name: 'pruner', holder: 'me', ttlMs: 900 * DAY });
  assert.ok(duty);
  await world.advance(8 * DAY);
  await store.taskPrune({ duty, retentionMs: 7 * DAY, limit: 500 });
  const page = await store.eventRead({ after: 0, limit: 100 });
  assert.deepEqual([page.reset, page.events.length], [true, 1], 'the newest row is kept, and no other');
  await store.close();
});

test('a step looks at no task behind the first one that is too young, and a task from the future hides none', async () => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  assert.ok(lane && spec);
  const push = async (count: number): Promise<readonly number[]> => {
    const item = { lane: lane.id, spec, priority: 0, maxTries: 1, payload: '1' };
    const pushed = await store.taskPush({ items: Array.from({ length: count }, () => item) });
    return pushed.map((one) => (one.ok ? one.task : assert.fail()));
  };
  const duty = await store.dutyTake({ name: 'pruner', holder: 'me', ttlMs: 900 * DAY });
  assert.ok(duty);
  const step = async (): Promise<readonly [number, boolean]> => {
    const { tasks, done } = await store.taskPrune({ duty, retentionMs: 7 * DAY, limit: 5 });
    return [tasks, done];
  };
  // Those of the future come first by their numbers, and stay until their day has come.
  world.jump(365 * DAY);
  await push(2);
  world.jump(-365 * DAY);
  const old = await push(8);
  await store.taskCancel({ tasks: old });
  await world.advance(8 * DAY);
  await push(50);
  assert.deepEqual(
    [await step(), await step(), await step()],
    [
      [3, false],
      [5, false],
      [0, true],
    ],
  );
  assert.deepEqual(await step(), [0, true], 'the fifty are not gone over');
  await store.close();
});

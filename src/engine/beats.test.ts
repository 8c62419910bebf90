import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DirectLink } from '../app/link/direct-link.ts';
import { isTaskEvent } from '../core/task/event.ts';
import type { Session, WorkerState } from '../protocol/link.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import { VirtualWorld } from '../testing.ts';
import { Engine } from './engine.ts';

const MINUTE = 60_000;

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const writes = t.mock.method(store, 'workerBeat');
  let opened = 0;
  /** Each with a link of its own, as workers of one process have. */
  const open = (name = `w-${++opened}`): Promise<Session> =>
    new DirectLink(engine, undefined).open({
      name,
      incarnation: `${name}-${++opened}`,
      slots: 4,
      tags: [],
      handlers: ['h'],
      queues: undefined,
    });
  const totalOf = async (name: string): Promise<number | undefined> =>
    (await store.workerList()).find((worker) => worker.name === name)?.totalTasks;
  const run = async (session: Session): Promise<Awaited<ReturnType<Session['claim']>>[number]> => {
    await engine.push({ queue: 'q', handler: 'h', maxAttempts: 1 });
    const [one] = await session.claim({ max: 1, waitMs: 0, signal: new AbortController().signal });
    assert.ok(one);
    return one;
  };
  return { world, store, engine, writes, open, totalOf, run };
}

const beatAll = (sessions: readonly Session[], state: WorkerState): Promise<unknown> =>
  Promise.all(sessions.map((session) => session.beat(state)));

test('beats of two hundred workers within a second are one write, and no caller waits for it', async (t) => {
  const { world, store, writes, open } = await rig(t);
  const sessions = await Promise.all(Array.from({ length: 200 }, () => open()));
  await beatAll(sessions, 'online');
  const first = writes.mock.callCount();
  assert.ok(first <= 2, `${first} writes for those that came together`);
  const seen = world.clock.monotonic();
  for (const some of [sessions.slice(0, 60), sessions.slice(60, 150), sessions.slice(150)]) {
    await beatAll(some, 'online');
    await world.advance(300);
  }
  assert.equal(writes.mock.callCount(), first, 'nothing was written yet');
  await world.advance(100);
  assert.equal(writes.mock.callCount(), first + 1);
  assert.equal(writes.mock.calls.at(-1)?.arguments[0].beats.length, 200);
  const { now, members } = await store.workerFleet();
  assert.deepEqual(new Set(members.map(({ seenAt }) => now - seenAt)), new Set([0]));
  assert.ok(world.clock.monotonic() - seen >= 1000);
});

test('a new state is written at once, with all that wait', async (t) => {
  const { store, writes, open } = await rig(t);
  const [one, two] = [await open('one'), await open('two')];
  await beatAll([one, two], 'online');
  const before = writes.mock.callCount();
  await two.beat('online');
  assert.equal(writes.mock.callCount(), before);
  await one.beat('draining');
  assert.equal(writes.mock.callCount(), before + 1);
  assert.deepEqual(
    (await store.workerList()).map(({ name, state }) => [name, state]),
    [
      ['one', 'draining'],
      ['two', 'online'],
    ],
  );
  await one.beat('offline');
  await one.beat('online');
  assert.equal((await store.workerList())[0]?.state, 'online', 'and comes back');
});

test('the sender of a new state learns when it was not written, and the ended tasks go with the next beat', async (t) => {
  const { writes, open, run, totalOf } = await rig(t);
  const session = await open('w');
  await session.beat('online');
  await session.complete(await run(session), 1);
  writes.mock.mockImplementationOnce(() => Promise.reject(new Error('the disk is gone')));
  await assert.rejects(session.beat('draining'), /the disk is gone/);
  assert.equal(await totalOf('w'), 0);
  await session.beat('draining');
  assert.equal(await totalOf('w'), 1, 'it is new still');
});

test('every end of a task counts for the name of its worker, and a release does not', async (t) => {
  const { store, engine, open, run, totalOf } = await rig(t);
  const session = await open('w');
  await session.complete(await run(session), 1);
  assert.equal(await session.fail(await run(session), 'no'), 'failed');
  const cancelled = await run(session);
  await engine.cancel(cancelled.task);
  await session.cancelled(cancelled);
  const back = await run(session);
  assert.equal(await session.release(back), 'ready');
  await engine.cancel(back.task);
  const stopped = await run(session);
  await engine.cancel(stopped.task);
  const nap = { go: 'park', key: 'k', timeoutMs: 5 } as const;
  assert.equal((await session.turn(stopped, { entries: [], then: nap })).went, 'cancelled');
  const lost = await run(session);
  await session.complete(lost, 1);
  await assert.rejects(session.fail(lost, 'late'), { code: 'LEASE_LOST' });
  await session.beat('offline');
  assert.equal(await totalOf('w'), 5);
  const next = await open('w');
  await next.complete(await run(next), 1);
  await next.beat('online');
  assert.deepEqual(
    (await store.workerList()).map(({ totalTasks }) => totalTasks),
    [6, 6],
  );
});

test('an end by a turn counts once, and a release or a wait does not', async (t) => {
  const { engine, open, run, totalOf } = await rig(t);
  const session = await open('w');
  const complete = { entries: [], then: { go: 'complete', result: 1 } } as const;
  const done = await run(session);
  assert.equal((await session.turn(done, complete)).state, 'completed');
  const failed = await run(session);
  await session.turn(failed, { entries: [], then: { go: 'fail', error: 'no', giveUp: true } });
  const back = await run(session);
  const later = { go: 'fail', error: 'no', retryAfterMs: 1000 } as const;
  assert.equal((await session.turn(back, { entries: [], then: later })).state, 'scheduled');
  await engine.cancel(back.task);
  const parked = await run(session);
  await session.turn(parked, { entries: [], then: { go: 'park', key: 'k', channel: 'c' } });
  await engine.cancel(parked.task);
  await session.turn(await run(session), { entries: [], then: { go: 'on' } });
  await session.beat('offline');
  assert.equal(await totalOf('w'), 2);
  // As if the answers had been lost.
  assert.equal((await session.turn(done, complete)).went, 'ended');
  const plain = await run(session);
  for (let n = 0; n < 2; n++) await session.complete(plain, 1);
  await session.beat('offline');
  assert.equal(await totalOf('w'), 3);
});

test('the feed has a registration, and one beat of a worker in each minute', async (t) => {
  const { world, store, open } = await rig(t);
  const session = await open('w');
  const minuteBegins = MINUTE - (world.clock.monotonic() % MINUTE);
  for (let second = 0; second <= 150; second += 10) {
    await session.beat('online');
    await world.advance(10_000);
  }
  await session.beat('draining');
  await session.beat('offline');
  const { events } = await store.eventRead({ after: 0, limit: 100 });
  assert.ok(!events.some(isTaskEvent));
  const [{ at: begun } = { at: 0 }, ...beats] = events;
  assert.deepEqual(
    events.map(({ change }) => change),
    ['registered', 'beat', 'beat', 'beat'],
  );
  assert.deepEqual(
    beats.map(({ at }) => at - begun),
    // Each with the first heartbeat of its minute, and the second that a heartbeat waits for others.
    [0, 1, 2].map((n) => (n === 0 ? 0 : Math.ceil((minuteBegins + (n - 1) * MINUTE) / 10_000) * 10_000 + 1000)),
  );
});

test('the beats of many workers that came at different times share events of the feed', async (t) => {
  const { world, store, open } = await rig(t);
  const untilMinute = (): number => MINUTE - (world.clock.monotonic() % MINUTE);
  await world.advance(untilMinute());
  const sessions: Session[] = [];
  for (let i = 0; i < 20; i++) {
    sessions.push(await open());
    await sessions.at(-1)?.beat('online');
    await world.advance(2000);
  }
  await world.advance(untilMinute());
  const { last } = await store.eventRead({ after: 0, limit: 1000 });
  for (let second = 0; second < 60; second += 10) {
    await beatAll(sessions, 'online');
    await world.advance(10_000);
  }
  const { events } = await store.eventRead({ after: last, limit: 1000 });
  assert.equal(events.length, 20, 'each of them once');
  assert.equal(new Set(events.map(({ at }) => at)).size, 1, 'in one write');
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Engine } from '../../engine/engine.ts';
import type { FeedItem } from '../../engine/read/feed.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { EventBroadcaster } from './event-broadcaster.ts';

interface Scene {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly broadcaster: EventBroadcaster;
  /** So many events more. */
  readonly happen: (count: number) => Promise<void>;
  readonly prune: () => Promise<void>;
}

const HOUR = 3_600_000;

/** A real engine whose polls never come by themselves: whatever arrives came by a wake-up. */
async function scene(t: TestContext, { started = true } = {}): Promise<Scene> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const broadcaster = new EventBroadcaster(engine);
  if (started) broadcaster.start();
  t.after(async () => {
    await broadcaster.close();
    await store.close();
  });
  const happen = async (count: number): Promise<void> => {
    await engine.pushMany(Array.from({ length: count }, () => ({ queue: 'q', handler: 'h' })));
  };
  const prune = async (): Promise<void> => {
    for (const { task } of await engine.list({ limit: 1000 })) await engine.cancel(task);
    world.elapse(2 * HOUR);
    await happen(1);
    const duty = await store.dutyTake({ name: 'pruner', holder: 'test', ttlMs: HOUR });
    assert.ok(duty);
    while (!(await store.taskPrune({ duty, retentionMs: HOUR, limit: 1000 })).done);
  };
  return { world, engine, broadcaster, happen, prune };
}

const never = new AbortController().signal;

/** The numbers of the next so many, all of which must be events. */
async function next(feed: AsyncGenerator<FeedItem>, count: number): Promise<number[]> {
  const seen: number[] = [];
  while (seen.length < count) {
    const { value, done } = await feed.next();
    assert.ok(!done && value.kind === 'event', JSON.stringify(value));
    seen.push(value.event.seq);
  }
  return seen;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('from any position come the past and then the present, without gap or repeat', async (t) => {
  const { broadcaster, happen } = await scene(t);
  await happen(50);
  const feeds = [0, 1, 25, 49, 50].map((after) => ({ after, feed: broadcaster.follow(after, never) }));
  const all = feeds.map(({ after, feed }) =>
    next(feed, 80 - after).then((seen) => assert.deepEqual(seen, range(after + 1, 80))),
  );
  for (let i = 0; i < 30; i++) await happen(1);
  await Promise.all(all);
});

test('a follower that comes before the broadcaster knows the end of the feed misses nothing', async (t) => {
  const { broadcaster, happen, world } = await scene(t, { started: false });
  const feed = broadcaster.follow(0, never);
  const first = next(feed, 1);
  await world.settle();
  await happen(1);
  broadcaster.start();
  assert.deepEqual(await first, [1]);
});

test('who follows closely costs the store nothing, and who is far behind reads from it', async (t) => {
  const { broadcaster, engine, happen, world } = await scene(t);
  await happen(10_500);
  await world.settle();
  const reads = t.mock.method(engine.store, 'eventRead');
  const fresh = await next(broadcaster.follow(10_400, never), 100);
  assert.deepEqual([fresh[0], fresh.at(-1), reads.mock.callCount()], [10_401, 10_500, 0]);
  const old = await next(broadcaster.follow(10, never), 10_490);
  assert.deepEqual(old, range(11, 10_500));
  assert.ok(reads.mock.callCount() > 1);
});

test('one that stops taking holds nobody up, and goes on where it was', async (t) => {
  const { broadcaster, happen } = await scene(t);
  const slow = broadcaster.follow(0, never);
  const fast = broadcaster.follow(0, never);
  await happen(1);
  assert.deepEqual(await next(slow, 1), [1]);
  for (let i = 0; i < 13; i++) {
    await happen(1000);
    await next(fast, 1000);
  }
  assert.deepEqual(await next(slow, 13_000), range(2, 13_001));
});

test('who asks for what is no longer kept is told to start over, and goes on without a gap', async (t) => {
  const { broadcaster, happen, prune } = await scene(t, { started: false });
  await happen(20);
  await prune();
  broadcaster.start();
  const feed = broadcaster.follow(3, never);
  const { value } = await feed.next();
  assert.equal(value?.kind, 'reset');
  const { last } = value as { readonly last: number };
  const now = await broadcaster.now();
  assert.ok(last >= 20 && last < now);
  assert.deepEqual(await next(feed, now - last), range(last + 1, now));
  await happen(1);
  assert.deepEqual(await next(feed, 1), [now + 1]);
});

test('what the store has pruned is still told to who is not far behind', async (t) => {
  const { broadcaster, happen, prune, world } = await scene(t);
  await happen(20);
  await world.settle();
  await prune();
  assert.deepEqual(await next(broadcaster.follow(3, never), 17), range(4, 20));
});

test('who is ahead of everything is told to start over, and hears what comes', async (t) => {
  const { broadcaster, happen } = await scene(t);
  await happen(3);
  const feed = broadcaster.follow(1_000_000, never);
  assert.deepEqual((await feed.next()).value, { kind: 'reset', last: 3 });
  await happen(2);
  assert.deepEqual(await next(feed, 2), [4, 5]);
});

test('a follower ends with its signal and with the broadcaster, while it waits', async (t) => {
  const { broadcaster, world } = await scene(t);
  const own = new AbortController();
  const [left, stayed] = [broadcaster.follow(0, own.signal).next(), broadcaster.follow(0, never).next()];
  await world.settle();
  own.abort();
  assert.equal((await left).done, true);
  await broadcaster.close();
  assert.equal((await stayed).done, true);
  assert.equal((await broadcaster.follow(0, never).next()).done, true);
});

test('a store that is away for a while breaks no follower that waits, and the broadcaster goes on where it was', async (t) => {
  const { broadcaster, engine, happen, world } = await scene(t);
  await happen(1);
  const feed = broadcaster.follow(0, never);
  await next(feed, 1);
  const waiting = next(feed, 2);
  await world.settle();
  const away = t.mock.method(engine.store, 'eventRead', () => Promise.reject(new Error('away')));
  await happen(1);
  await world.settle();
  away.mock.restore();
  await happen(1);
  await world.advance(1000);
  assert.deepEqual(await waiting, [2, 3]);
});

test('a broadcaster whose store is away closes at once', async (t) => {
  const { broadcaster, engine, happen, world } = await scene(t);
  await world.settle();
  t.mock.method(engine.store, 'eventRead', () => Promise.reject(new Error('away')));
  await happen(1);
  await world.settle();
  await broadcaster.close();
  assert.deepEqual(world.waits, []);
});

test('who waits twenty thousand times leaves nothing behind', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const { broadcaster, engine, world } = await scene(t, { started: false });
  // One event after the other, as fast as they are taken: the store is not what is looked at here.
  let seq = 0;
  t.mock.method(engine, 'eventPages', async function* ({ signal }: { signal: AbortSignal }) {
    while (!signal.aborted) {
      await new Promise(setImmediate);
      yield [{ kind: 'event', event: { seq: ++seq } }];
    }
  });
  broadcaster.start();
  await world.settle();
  const feed = broadcaster.follow(0, never);
  await next(feed, 11_000);
  gc();
  const before = process.memoryUsage().heapUsed;
  await next(feed, 20_000);
  gc();
  const grown = process.memoryUsage().heapUsed - before;
  assert.ok(grown < 3_000_000, `${grown} bytes more`);
});

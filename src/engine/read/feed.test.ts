import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskEvent } from '../../core/task/event.ts';
import type { EventPage } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Feed, type FeedItem } from './feed.ts';

const event = (seq: number): TaskEvent => ({
  seq,
  at: 0,
  queue: 'mail',
  change: 'created',
  state: 'ready',
  task: seq,
  attempt: 0,
  createdAt: 0,
});

/** A feed over events 1 to `last`; those below `first` are gone. */
function rig(last: number): {
  world: VirtualWorld;
  feed: Feed;
  store: { first: number; last: number; reads: number };
  take: (items: AsyncIterator<FeedItem>, count: number) => Promise<readonly number[]>;
} {
  const world = new VirtualWorld();
  const store = { first: 1, last, reads: 0 };
  const eventRead = async ({ after, limit }: { after: number; limit: number }): Promise<EventPage> => {
    store.reads++;
    await Promise.resolve();
    const reset = after + 1 < store.first;
    const from = Math.max(after + 1, store.first);
    const events: TaskEvent[] = [];
    for (let seq = from; seq <= store.last && events.length < limit; seq++) events.push(event(seq));
    return { events, reset, last: events.at(-1)?.seq ?? (reset ? store.first - 1 : after) };
  };
  const take = async (items: AsyncIterator<FeedItem>, count: number): Promise<readonly number[]> => {
    const seen: number[] = [];
    while (seen.length < count) {
      const { value } = await items.next();
      assert.ok(value?.kind === 'event');
      seen.push(value.event.seq);
    }
    return seen;
  };
  return { world, feed: new Feed({ eventRead }, world), store, take };
}

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

test('a reader gets every event in order, page after page, without waiting', async () => {
  const { feed, take, store } = rig(1200);
  assert.deepEqual(await take(feed.follow(0), 1200), range(1, 1200));
  assert.equal(store.reads, 3);
});

test('a reader continues after the event that it names', async () => {
  const { feed, take } = rig(10);
  assert.deepEqual(await take(feed.follow(7), 3), [8, 9, 10]);
});

test('a reader at the end waits, and a nudge wakes it without any time passing', async () => {
  const { feed, store, world } = rig(2);
  const items = feed.follow(2);
  let got: number | undefined;
  void items.next().then(({ value }) => {
    got = value?.kind === 'event' ? value.event.seq : -1;
  });
  await world.settle();
  assert.equal(feed.awaited, true);
  assert.equal(got, undefined);
  store.last = 3;
  feed.nudge();
  await world.settle();
  assert.equal(got, 3);
});

test('without a nudge a reader looks again after about a second', async () => {
  const { feed, store, world } = rig(2);
  const next = feed.follow(2).next();
  await world.settle();
  store.last = 3;
  await world.advance(1300);
  const { value } = await next;
  assert.ok(value?.kind === 'event' && value.event.seq === 3);
});

test('an event that comes while the reader is looking is not missed', async () => {
  const { feed, store, world } = rig(2);
  const next = feed.follow(2).next();
  // The read is under way; its answer will be empty.
  store.last = 3;
  feed.nudge();
  await world.settle();
  const { value } = await next;
  assert.ok(value?.kind === 'event' && value.event.seq === 3);
});

test('a reader below the retention gets a reset, and continues without a gap', async () => {
  const { feed, store, take } = rig(20);
  store.first = 15;
  const items = feed.follow(3);
  assert.deepEqual((await items.next()).value, { kind: 'reset', last: 14 });
  assert.deepEqual(await take(items, 6), range(15, 20));
});

test('a reader that the pruner has overtaken gets a reset in the middle', async () => {
  const { feed, store, take, world } = rig(5);
  const items = feed.follow(0);
  assert.deepEqual(await take(items, 5), range(1, 5));
  const next = items.next();
  await world.settle();
  store.first = 30;
  store.last = 32;
  feed.nudge();
  await world.settle();
  assert.deepEqual((await next).value, { kind: 'reset', last: 29 });
  assert.deepEqual(await take(items, 3), range(30, 32));
});

test('a reset of an empty feed says where to continue', async () => {
  const { feed, store } = rig(9);
  store.first = 10;
  assert.deepEqual((await feed.follow(2).next()).value, { kind: 'reset', last: 9 });
});

test('an abort ends the feed and leaves no timer', async () => {
  const { feed, world } = rig(2);
  const control = new AbortController();
  const items = feed.follow(2, control.signal);
  const next = items.next();
  await world.settle();
  control.abort();
  assert.deepEqual(await next, { value: undefined, done: true });
  assert.deepEqual(world.waits, []);
  assert.equal(feed.awaited, false);
});

test('a reader that stops by itself leaves no timer', async () => {
  const { feed, world } = rig(5);
  for await (const item of feed.follow(0)) {
    assert.ok(item.kind === 'event');
    if (item.event.seq === 3) break;
  }
  assert.deepEqual(world.waits, []);
  assert.equal(feed.awaited, false);
});

test('a reader whose read fails gets the error and leaves no timer', async () => {
  const world = new VirtualWorld();
  const feed = new Feed({ eventRead: () => Promise.reject(new Error('no')) }, world);
  await assert.rejects(feed.follow(0).next(), /no/);
  assert.deepEqual(world.waits, []);
});

test('readers do not disturb each other', async () => {
  const { feed, take } = rig(600);
  const [a, b] = await Promise.all([take(feed.follow(0), 600), take(feed.follow(590), 10)]);
  assert.deepEqual(a, range(1, 600));
  assert.deepEqual(b, range(591, 600));
});

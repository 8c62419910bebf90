import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane, QueueRecord } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { MAX_KNOWN, Ring, SCAN_MS } from './ready-lanes.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly ring: Ring;
  /** What the store says of itself; a test may change it. */
  readonly store: { ready: number[]; paused: string[]; scans: number; hold?: Promise<void> };
  /** The ids of the lanes that a claim would look at. */
  readonly pick: (limit?: number) => readonly number[];
}

const lane = (id: number): Lane => ({ id, queue: `q${id}`, handler: 'h', paused: false });

function rig(ready: number[] = []): Rig {
  const world = new VirtualWorld();
  const store: Rig['store'] = { ready, paused: [], scans: 0 };
  const ring = new Ring(
    {
      laneScan: async ({ after, limit }) => {
        if (after === 0) store.scans++;
        await store.hold;
        return store.ready
          .filter((id) => id > after)
          .sort((a, b) => a - b)
          .slice(0, limit)
          .map((id) => ({ id, priority: 0 }));
      },
      laneGet: async ({ lanes }) => lanes.map(lane),
      queueList: async () => {
        const names = store.paused.slice();
        await store.hold;
        return names.map((name) => ({ name, paused: true }) as QueueRecord);
      },
      slotGet: async ({ slots }) => ({ now: 0, slots: slots.map(() => undefined) }),
    },
    world,
  );
  return { world, ring, store, pick: (limit = 100) => ring.pick(() => true, limit, 100).map((pick) => pick.lane) };
}

/** Comes when somebody who looked in vain, and takes whatever there is, should look again. */
function waiting(ring: Ring): Promise<void> {
  const waiter = ring.signs.enter({ priority: 0, freeShare: 1, wants: () => ring.knows(() => true) });
  waiter.looking();
  return waiter.sign(60_000);
}

test('a lane that was marked is picked, and one that nobody knows the name of is not', () => {
  const { ring, pick } = rig();
  ring.learn(lane(1));
  ring.mark(1);
  ring.mark(2);
  assert.deepEqual(pick(), [1]);
});

test('lanes that were picked go to the back, so that each gets its turn', () => {
  const { ring, pick } = rig();
  for (const id of [1, 2, 3]) {
    ring.learn(lane(id));
    ring.mark(id);
  }
  assert.deepEqual(pick(2), [1, 2]);
  assert.deepEqual(pick(2), [3, 1]);
  assert.deepEqual(pick(2), [2, 3]);
});

test('only wanted lanes are picked, and the others keep their place', () => {
  const { ring, pick } = rig();
  for (const id of [1, 2, 3]) {
    ring.learn(lane(id));
    ring.mark(id);
  }
  assert.deepEqual(
    ring.pick(({ queue }) => queue === 'q2', 10, 100).map((found) => found.lane),
    [2],
  );
  assert.deepEqual(pick(), [1, 3, 2]);
});

test('a lane that was found empty is picked no more', () => {
  const { ring, pick } = rig();
  ring.learn(lane(1));
  ring.mark(1);
  const [found] = ring.pick(() => true, 1, 100);
  assert.ok(found);
  ring.empty(found);
  assert.deepEqual(pick(), []);
});

test('a lane that was marked while it was being looked at is not taken for empty', () => {
  const { ring, pick } = rig();
  ring.learn(lane(1));
  ring.mark(1);
  const [found] = ring.pick(() => true, 1, 100);
  assert.ok(found);
  ring.mark(1);
  ring.empty(found);
  assert.deepEqual(pick(), [1]);
});

test('the first claim scans, and then two a second at most', async () => {
  const { ring, store, world, pick } = rig([4, 5]);
  await ring.refresh();
  assert.deepEqual(pick(), [4, 5]);
  await ring.refresh();
  assert.equal(store.scans, 1);
  await world.advance(SCAN_MS / 2 - 1);
  await ring.refresh();
  assert.equal(store.scans, 1);
  store.ready.push(6);
  await world.advance(1);
  await ring.refresh();
  assert.equal(store.scans, 2);
  assert.ok(pick().includes(6));
});

test('claims that come during a scan share it', async () => {
  const { ring, store } = rig([4]);
  await Promise.all([ring.refresh(), ring.refresh(), ring.refresh()]);
  assert.equal(store.scans, 1);
});

test('a hint makes the next claim scan at once, and wakes who waits', async () => {
  const { ring, store } = rig([4]);
  await ring.refresh();
  const came = waiting(ring);
  ring.hint();
  await came;
  await ring.refresh();
  assert.equal(store.scans, 2);
});

test('a mark wakes who waits', async () => {
  const { ring } = rig();
  ring.learn(lane(1));
  const came = waiting(ring);
  ring.mark(1);
  await came;
});

test('a scan reads all pages', async () => {
  const { ring, pick } = rig(Array.from({ length: 2500 }, (_, n) => n + 1));
  await ring.refresh();
  assert.equal(pick(5000).length, 2500);
});

test('a scan does not bring a lane to the front that has its place already', async () => {
  const { ring, pick, world } = rig([1, 2]);
  await ring.refresh();
  assert.deepEqual(pick(1), [1]);
  await world.advance(SCAN_MS);
  await ring.refresh();
  assert.deepEqual(pick(), [2, 1]);
});

test('a pause holds at once in the process that paused', async () => {
  const { ring, pick } = rig([1, 2]);
  await ring.refresh();
  ring.pause('q1', true);
  assert.deepEqual(pick(), [2]);
});

test('a pause by another process holds after the next scan, also for lanes that become ready later', async () => {
  const { ring, store, world, pick } = rig([1]);
  await ring.refresh();
  store.paused.push('q1', 'q7');
  await world.advance(SCAN_MS);
  await ring.refresh();
  ring.learn(lane(7));
  ring.mark(7);
  assert.deepEqual(pick(), []);
  store.paused.length = 0;
  await world.advance(SCAN_MS);
  await ring.refresh();
  assert.deepEqual(
    pick().toSorted((a, b) => a - b),
    [1, 7],
  );
});

test('a scan that began before a pause does not undo it', async () => {
  const { ring, store, pick } = rig([1]);
  let release = (): void => {};
  store.hold = new Promise((resolve) => {
    release = resolve;
  });
  const scan = ring.refresh();
  ring.pause('q1', true);
  release();
  await scan;
  assert.deepEqual(pick(), []);
});

test('a resume wakes who waits and makes the next claim scan', async () => {
  const { ring, store, pick } = rig([1]);
  store.paused.push('q1');
  await ring.refresh();
  assert.deepEqual(pick(), []);
  store.paused.length = 0;
  const came = waiting(ring);
  ring.pause('q1', false);
  await came;
  await ring.refresh();
  assert.equal(store.scans, 2);
  assert.deepEqual(pick(), [1]);
});

test('a lane that is learned as paused is not picked', () => {
  const { ring, pick } = rig();
  ring.learn({ ...lane(1), paused: true });
  ring.mark(1);
  assert.deepEqual(pick(), []);
});

test('a lane is known by its number once it was learned', () => {
  const { ring } = rig();
  assert.equal(ring.lane(1), undefined);
  ring.learn(lane(1));
  assert.deepEqual(ring.lane(1), lane(1));
});

test('a lane that another process tells of is marked when it is known, and looked for when it is not', async () => {
  const { ring, pick, store } = rig([1]);
  await ring.refresh();
  for (const one of ring.pick(() => true, 10, 100)) ring.empty(one);
  assert.equal(
    ring.knows(() => true),
    false,
  );
  ring.tell(1);
  assert.equal(
    ring.knows(() => true),
    true,
  );
  assert.equal(
    ring.knows(({ id }) => id === 2),
    false,
  );
  assert.equal(ring.stale, false);
  ring.tell(2);
  assert.equal(ring.stale, true);
  store.ready = [2];
  await ring.refresh();
  assert.deepEqual(pick(), [1, 2]);
});

test('lanes that have nothing are forgotten when there are too many, and met again when they have something', async () => {
  const { ring, store, pick } = rig();
  for (const id of [1, 2]) ring.learn(lane(id));
  ring.mark(2);
  for (let id = 3; id < MAX_KNOWN + 3; id++) ring.learn(lane(id));
  assert.equal(ring.lane(1), undefined);
  assert.deepEqual(ring.lane(2), lane(2));
  ring.mark(1);
  store.ready = [1, 2];
  assert.equal(ring.stale, true, 'the next claim scans');
  await ring.refresh();
  assert.deepEqual(
    pick().toSorted((a, b) => a - b),
    [1, 2],
  );
});

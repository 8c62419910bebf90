import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane, QueueRecord } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { MAX_KNOWN, ReadyLanes, SCAN_MS } from './ready-lanes.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly readyLanes: ReadyLanes;
  /** What the store answers; a test may change it. */
  readonly store: { ready: number[]; paused: string[]; scans: number; hold?: Promise<void> };
  /** The ids of the lanes that a claim would ask. */
  readonly pick: (limit?: number) => readonly number[];
}

const lane = (id: number): Lane => ({ id, queue: `q${id}`, handler: 'h', paused: false });

function rig(ready: number[] = []): Rig {
  const world = new VirtualWorld();
  const store: Rig['store'] = { ready, paused: [], scans: 0 };
  const readyLanes = new ReadyLanes(
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
      counterGet: async ({ counters }) => ({ now: 0, counters: counters.map(() => undefined) }),
    },
    world,
  );
  return {
    world,
    readyLanes,
    store,
    pick: (limit = 100) => readyLanes.pick(() => true, limit, 100).map((pick) => pick.lane),
  };
}

/** Resolves when a claim that found nothing, and takes anything, should look again. */
function waiting(readyLanes: ReadyLanes): Promise<void> {
  const waiter = readyLanes.waiters.enter({ priority: 0, freeShare: 1, wants: () => readyLanes.knows(() => true) });
  waiter.looking();
  return waiter.nextHint(60_000);
}

test('a lane that another process reports is read beside the scan, not after it', async () => {
  const { readyLanes, store, pick } = rig([7]);
  let release = (): void => {};
  store.hold = new Promise((resolve) => (release = resolve));
  readyLanes.report(7);
  const refreshed = readyLanes.refresh();
  await new Promise(setImmediate);
  assert.equal(readyLanes.lane(7)?.queue, 'q7');
  assert.deepEqual(pick(), [], 'not before the pauses are known');
  release();
  await refreshed;
  assert.deepEqual(pick(), [7]);
});

test('a marked lane is picked, and one whose name is not known is not', () => {
  const { readyLanes, pick } = rig();
  readyLanes.learn(lane(1));
  readyLanes.mark(1);
  readyLanes.mark(2);
  assert.deepEqual(pick(), [1]);
});

test('picked lanes go to the back, so that each gets its turn', () => {
  const { readyLanes, pick } = rig();
  for (const id of [1, 2, 3]) {
    readyLanes.learn(lane(id));
    readyLanes.mark(id);
  }
  assert.deepEqual(pick(2), [1, 2]);
  assert.deepEqual(pick(2), [3, 1]);
  assert.deepEqual(pick(2), [2, 3]);
});

test('only wanted lanes are picked, and the others keep their place', () => {
  const { readyLanes, pick } = rig();
  for (const id of [1, 2, 3]) {
    readyLanes.learn(lane(id));
    readyLanes.mark(id);
  }
  assert.deepEqual(
    readyLanes.pick(({ queue }) => queue === 'q2', 10, 100).map((found) => found.lane),
    [2],
  );
  assert.deepEqual(pick(), [1, 3, 2]);
});

test('a lane that was found empty is no longer picked', () => {
  const { readyLanes, pick } = rig();
  readyLanes.learn(lane(1));
  readyLanes.mark(1);
  const [found] = readyLanes.pick(() => true, 1, 100);
  assert.ok(found);
  readyLanes.empty(found);
  assert.deepEqual(pick(), []);
});

test('a lane that was marked during a look is not taken for empty', () => {
  const { readyLanes, pick } = rig();
  readyLanes.learn(lane(1));
  readyLanes.mark(1);
  const [found] = readyLanes.pick(() => true, 1, 100);
  assert.ok(found);
  readyLanes.mark(1);
  readyLanes.empty(found);
  assert.deepEqual(pick(), [1]);
});

test('the first claim scans, and then at most two a second', async () => {
  const { readyLanes, store, world, pick } = rig([4, 5]);
  await readyLanes.refresh();
  assert.deepEqual(pick(), [4, 5]);
  await readyLanes.refresh();
  assert.equal(store.scans, 1);
  await world.advance(SCAN_MS / 2 - 1);
  await readyLanes.refresh();
  assert.equal(store.scans, 1);
  store.ready.push(6);
  await world.advance(1);
  await readyLanes.refresh();
  assert.equal(store.scans, 2);
  assert.ok(pick().includes(6));
});

test('claims that come during a scan share it', async () => {
  const { readyLanes, store } = rig([4]);
  await Promise.all([readyLanes.refresh(), readyLanes.refresh(), readyLanes.refresh()]);
  assert.equal(store.scans, 1);
});

test('a hint makes the next claim scan at once, and wakes waiting claims', async () => {
  const { readyLanes, store } = rig([4]);
  await readyLanes.refresh();
  const came = waiting(readyLanes);
  readyLanes.hint();
  await came;
  await readyLanes.refresh();
  assert.equal(store.scans, 2);
});

test('a mark wakes waiting claims', async () => {
  const { readyLanes } = rig();
  readyLanes.learn(lane(1));
  const came = waiting(readyLanes);
  readyLanes.mark(1);
  await came;
});

test('a scan reads all pages', async () => {
  const { readyLanes, pick } = rig(Array.from({ length: 2500 }, (_, n) => n + 1));
  await readyLanes.refresh();
  assert.equal(pick(5000).length, 2500);
});

test('a scan does not move a known lane to the front', async () => {
  const { readyLanes, pick, world } = rig([1, 2]);
  await readyLanes.refresh();
  assert.deepEqual(pick(1), [1]);
  await world.advance(SCAN_MS);
  await readyLanes.refresh();
  assert.deepEqual(pick(), [2, 1]);
});

test('a pause holds at once in the process that paused', async () => {
  const { readyLanes, pick } = rig([1, 2]);
  await readyLanes.refresh();
  readyLanes.pause('q1', true);
  assert.deepEqual(pick(), [2]);
});

test('a pause by another process holds after the next scan, also for lanes that become ready later', async () => {
  const { readyLanes, store, world, pick } = rig([1]);
  await readyLanes.refresh();
  store.paused.push('q1', 'q7');
  await world.advance(SCAN_MS);
  await readyLanes.refresh();
  readyLanes.learn(lane(7));
  readyLanes.mark(7);
  assert.deepEqual(pick(), []);
  store.paused.length = 0;
  await world.advance(SCAN_MS);
  await readyLanes.refresh();
  assert.deepEqual(
    pick().toSorted((a, b) => a - b),
    [1, 7],
  );
});

test('a scan that began before a pause does not undo it', async () => {
  const { readyLanes, store, pick } = rig([1]);
  let release = (): void => {};
  store.hold = new Promise((resolve) => {
    release = resolve;
  });
  const scan = readyLanes.refresh();
  readyLanes.pause('q1', true);
  release();
  await scan;
  assert.deepEqual(pick(), []);
});

test('a resume wakes waiting claims and makes the next claim scan', async () => {
  const { readyLanes, store, pick } = rig([1]);
  store.paused.push('q1');
  await readyLanes.refresh();
  assert.deepEqual(pick(), []);
  store.paused.length = 0;
  const came = waiting(readyLanes);
  readyLanes.pause('q1', false);
  await came;
  await readyLanes.refresh();
  assert.equal(store.scans, 2);
  assert.deepEqual(pick(), [1]);
});

test('a lane that is learned as paused is not picked', () => {
  const { readyLanes, pick } = rig();
  readyLanes.learn({ ...lane(1), paused: true });
  readyLanes.mark(1);
  assert.deepEqual(pick(), []);
});

test('a learned lane is known by its number', () => {
  const { readyLanes } = rig();
  assert.equal(readyLanes.lane(1), undefined);
  readyLanes.learn(lane(1));
  assert.deepEqual(readyLanes.lane(1), lane(1));
});

test('a lane that another process names is marked when it is known, and scanned for when it is not', async () => {
  const { readyLanes, pick, store } = rig([1]);
  await readyLanes.refresh();
  for (const one of readyLanes.pick(() => true, 10, 100)) readyLanes.empty(one);
  assert.equal(
    readyLanes.knows(() => true),
    false,
  );
  readyLanes.report(1);
  assert.equal(
    readyLanes.knows(() => true),
    true,
  );
  assert.equal(
    readyLanes.knows(({ id }) => id === 2),
    false,
  );
  assert.equal(readyLanes.stale, false);
  readyLanes.report(2);
  assert.equal(readyLanes.stale, true);
  store.ready = [2];
  await readyLanes.refresh();
  assert.deepEqual(pick(), [1, 2]);
});

test('empty lanes are forgotten when there are too many, and learned again when they have tasks', async () => {
  const { readyLanes, store, pick } = rig();
  for (const id of [1, 2]) readyLanes.learn(lane(id));
  readyLanes.mark(2);
  for (let id = 3; id < MAX_KNOWN + 3; id++) readyLanes.learn(lane(id));
  assert.equal(readyLanes.lane(1), undefined);
  assert.deepEqual(readyLanes.lane(2), lane(2));
  readyLanes.mark(1);
  store.ready = [1, 2];
  assert.equal(readyLanes.stale, true, 'the next claim scans');
  await readyLanes.refresh();
  assert.deepEqual(
    pick().toSorted((a, b) => a - b),
    [1, 2],
  );
});

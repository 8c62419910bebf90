import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import { ClaimWaiters, type WaitingClaim } from './claim-waiters.ts';

const POLL_MS = 1000;
const LONG_MS = 60_000;
const EQUAL = { priority: 0, freeShare: 1 };

interface Rig {
  readonly world: VirtualWorld;
  readonly waiters: ClaimWaiters;
  /** A claim that has found nothing, and what became of it. */
  readonly wait: (
    wants?: (lane?: number) => boolean,
    maxMs?: number,
    signal?: AbortSignal,
    rank?: typeof EQUAL,
  ) => Seeker;
}

interface Seeker {
  readonly waiting: WaitingClaim;
  readonly came: () => boolean;
}

function rig(seed = 1): Rig {
  const world = new VirtualWorld({ seed });
  const waiters = new ClaimWaiters(world, POLL_MS);
  return {
    world,
    waiters,
    wait: (wants = () => true, maxMs = LONG_MS, signal, rank = EQUAL) => {
      const waiting = waiters.enter({ ...rank, wants, signal });
      waiting.looking();
      return { waiting, came: follow(waiting.nextHint(maxMs)) };
    },
  };
}

function follow(promise: Promise<void>): () => boolean {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  return () => done;
}

const countOf = (seekers: readonly Seeker[]): number => seekers.filter(({ came }) => came()).length;

test('a hint lets a few of very many look, those that have waited longest', async () => {
  const { world, waiters, wait } = rig();
  const seekers = Array.from({ length: 1000 }, () => wait());
  waiters.wake();
  await world.settle();
  assert.equal(countOf(seekers), 8);
  assert.equal(countOf(seekers.slice(0, 8)), 8);
});

test('while there is more work than they take, twice as many look each time, until all have', async () => {
  const { world, waiters, wait } = rig();
  const seekers = Array.from({ length: 100 }, () => wait());
  const waves: number[] = [];
  waiters.wake();
  for (let done = 0; done < 100; ) {
    await world.settle();
    const chosen = seekers.slice(done).filter(({ came }) => came());
    waves.push(chosen.length);
    done += chosen.length;
    for (const { waiting } of chosen) waiting.leave();
  }
  assert.deepEqual(waves, [8, 16, 32, 44]);
  assert.equal(waiters.awaited, false);
  assert.deepEqual(world.waits, []);
});

test('once there is no more work no other claim looks, and the next hint begins with a few', async () => {
  const { world, waiters, wait } = rig();
  let some = true;
  const seekers = Array.from({ length: 100 }, () => wait(() => some));
  waiters.wake();
  await world.settle();
  some = false;
  for (const { waiting } of seekers.slice(0, 8)) waiting.leave();
  await world.settle();
  assert.equal(countOf(seekers), 8);
  some = true;
  waiters.wake();
  // Ninety-two were asked in vain: a millisecond of rest.
  await world.advance(1);
  assert.equal(countOf(seekers), 16);
});

test('only claims that could take the work look, however many wait before them', async () => {
  const { world, waiters, wait } = rig();
  const others = Array.from({ length: 100 }, () => wait(() => false));
  const one = wait();
  waiters.wake();
  await world.settle();
  assert.equal(one.came(), true);
  assert.equal(countOf(others), 0);
});

test('a claim that found nothing does not look again at the same hint, and others do', async () => {
  const { world, waiters, wait } = rig();
  const seekers = Array.from({ length: 20 }, () => wait());
  waiters.wake();
  await world.settle();
  const again = seekers.slice(0, 8).map(({ waiting }) => {
    waiting.looking();
    return follow(waiting.nextHint(LONG_MS));
  });
  await world.settle();
  assert.equal(countOf(seekers), 20);
  assert.deepEqual(
    again.map((came) => came()),
    again.map(() => false),
  );
});

test('a hint that comes during a look counts for the next one', async () => {
  const { world, waiters } = rig();
  const waiting = waiters.enter({ ...EQUAL, wants: () => true });
  waiting.looking();
  waiters.wake();
  const came = follow(waiting.nextHint(LONG_MS));
  await world.settle();
  assert.equal(came(), true);
});

test('a hint that comes before a look begins is seen by that look', async () => {
  const { world, waiters } = rig();
  const waiting = waiters.enter({ ...EQUAL, wants: () => true });
  waiters.wake();
  waiting.looking();
  const came = follow(waiting.nextHint(LONG_MS));
  await world.advance(POLL_MS / 2 - 1);
  assert.equal(came(), false);
});

test('when it is not known what there is, one claim looks for all', async () => {
  const { world, waiters, wait } = rig();
  const seekers = Array.from({ length: 100 }, () => wait(() => false));
  waiters.lookForAll();
  await world.settle();
  assert.equal(countOf(seekers), 1);
});

test('a call that comes while all are looking counts for the first that comes back', async () => {
  const { world, waiters } = rig();
  const waiting = waiters.enter({ ...EQUAL, wants: () => false });
  waiting.looking();
  waiters.lookForAll();
  const came = follow(waiting.nextHint(LONG_MS));
  await world.settle();
  assert.equal(came(), true);
});

test('without a hint one claim looks within a second, another one each time', async () => {
  const { world, wait } = rig();
  const seekers = Array.from({ length: 5 }, () => wait(() => false));
  for (let n = 1; n <= 3; n++) {
    await world.advance(POLL_MS);
    const count = countOf(seekers);
    // One poll or two: each comes after half a second to a second.
    assert.ok(count >= n && count <= 2 * n, `${count} after ${n} s`);
  }
});

test('the poll comes earlier at random, so that processes do not poll together', () => {
  const polls = new Set<number>();
  for (let seed = 1; seed <= 50; seed++) {
    const { world, wait } = rig(seed);
    wait();
    const after = Math.min(...world.waits);
    assert.ok(after >= POLL_MS / 2 && after < POLL_MS, `${after}`);
    polls.add(Math.round(after / 100));
  }
  assert.ok(polls.size >= 4);
});

test('a wait ends at its own limit, and at an abort before it or during the look', async () => {
  const { world, waiters, wait } = rig();
  const control = new AbortController();
  const limited = wait(() => false, 40);
  const aborted = wait(() => false, LONG_MS, control.signal);
  await world.advance(39);
  assert.equal(limited.came(), false);
  await world.advance(1);
  assert.equal(limited.came(), true);
  assert.equal(aborted.came(), false);
  control.abort();
  await world.settle();
  assert.equal(aborted.came(), true);
  const late = wait(() => false, LONG_MS, control.signal);
  await world.settle();
  assert.equal(late.came(), true);
  assert.deepEqual(world.waits, []);
  assert.equal(waiters.awaited, true, 'they have not left');
});

test('a claim that leaves during a look makes room for the next', async () => {
  const { world, waiters, wait } = rig();
  const seekers = Array.from({ length: 9 }, () => wait());
  waiters.wake();
  await world.settle();
  assert.equal(seekers[8]?.came(), false);
  for (const { waiting } of seekers.slice(0, 1)) waiting.leave();
  await world.settle();
  assert.equal(seekers[8]?.came(), true);
});

test('the best look first, then the least busy, then those that have waited longest', async () => {
  const { world, waiters, wait } = rig();
  const order: string[] = [];
  const seekers = new Map<string, Seeker>();
  const put = (name: string, priority: number, freeShare: number): void => {
    seekers.set(
      name,
      wait(() => true, LONG_MS, undefined, { priority, freeShare }),
    );
  };
  for (let i = 0; i < 10; i++) put(`plain ${i}`, 0, 0.5);
  for (let i = 0; i < 5; i++) put(`idle ${i}`, 0, 1);
  for (let i = 0; i < 5; i++) put(`better ${i}`, 7, 0.1);
  put('worse', -1, 1);
  waiters.wake();
  while (order.length < seekers.size) {
    await world.settle();
    const came = [...seekers].filter(([name, { came }]) => came() && !order.includes(name));
    order.push(...came.map(([name]) => name));
    for (const [, { waiting }] of came) waiting.leave();
  }
  const names = (word: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${word} ${i}`);
  assert.deepEqual(order.slice(0, 8).toSorted(), [...names('better', 5), ...names('idle', 3)].toSorted());
  assert.equal(order.at(-1), 'worse');
});

test('work that none of two thousand can serve does not cost a check of each for every hint', async () => {
  const { world, waiters, wait } = rig();
  let asked = 0;
  let some = false;
  const seekers = Array.from({ length: 2000 }, () =>
    wait(() => {
      asked++;
      return some;
    }),
  );
  for (let i = 0; i < 1000; i++) waiters.wake();
  await world.settle();
  assert.equal(countOf(seekers), 0);
  assert.ok(asked <= 2000, `asked ${asked} times for a thousand signs`);
  // They rest; a hint that came meanwhile is not lost.
  some = true;
  waiters.wake();
  await world.settle();
  assert.equal(countOf(seekers), 0);
  await world.advance(20);
  assert.equal(countOf(seekers), 8);
});

test('while nothing is known no waiter is asked, and a hint that comes then is not delayed', async () => {
  const world = new VirtualWorld();
  let known = false;
  const waiters = new ClaimWaiters(world, POLL_MS, () => !known);
  let asked = 0;
  const came = Array.from({ length: 200 }, () => {
    const waiting = waiters.enter({
      ...EQUAL,
      wants: () => {
        asked++;
        return true;
      },
    });
    waiting.looking();
    return follow(waiting.nextHint(LONG_MS));
  });
  waiters.wake();
  assert.equal(asked, 0);
  known = true;
  waiters.wake();
  await world.settle();
  assert.equal(came.filter((one) => one()).length, 8);
});

test('a hint with a lane asks about that lane only, and one look for all asks no other waiter', async () => {
  const { world, waiters, wait } = rig();
  const asked: (number | undefined)[] = [];
  const seekers = Array.from({ length: 100 }, () =>
    wait((lane) => {
      asked.push(lane);
      return lane === 7;
    }),
  );
  waiters.wake(5);
  await world.settle();
  assert.deepEqual([asked.length, new Set(asked)], [100, new Set([5])]);
  asked.length = 0;
  await world.advance(1);
  waiters.lookForAll();
  await world.settle();
  assert.deepEqual([asked, countOf(seekers)], [[], 1]);
  waiters.wake(7);
  await world.settle();
  assert.deepEqual([new Set(asked), countOf(seekers)], [new Set([7]), 8]);
});

test('a claim that looks while the others are asked about a lane is asked about all lanes when it comes back', async () => {
  const { world, waiters, wait } = rig();
  const asked: (number | undefined)[] = [];
  const late = waiters.enter({
    ...EQUAL,
    wants: (lane) => {
      asked.push(lane);
      return true;
    },
  });
  late.looking();
  wait(() => false);
  waiters.wake(5);
  await world.settle();
  assert.deepEqual(asked, []);
  const came = follow(late.nextHint(LONG_MS));
  await world.settle();
  assert.deepEqual([asked, came()], [[undefined], true]);
});

test('hints for more lanes than are named one by one are hints for all lanes', async () => {
  const { world, waiters, wait } = rig();
  let ready = false;
  const asked = new Set<number | undefined>();
  const crowd = Array.from({ length: 100 }, () =>
    wait((lane) => {
      asked.add(lane);
      return ready;
    }),
  );
  // All were asked in vain: until the rest is over, nobody is asked.
  waiters.wake(1);
  await world.settle();
  asked.clear();
  ready = true;
  for (let lane = 2; lane < 50; lane++) waiters.wake(lane);
  await world.advance(1);
  assert.deepEqual([asked, countOf(crowd)], [new Set([undefined]), 8]);
});

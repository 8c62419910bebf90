import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../testing.ts';
import { Signs, type Waiting } from './signs.ts';

const POLL_MS = 1000;
const LONG_MS = 60_000;

interface Rig {
  readonly world: VirtualWorld;
  readonly signs: Signs;
  /** Somebody who has looked in vain, and what became of it. */
  readonly wait: (wants?: () => boolean, maxMs?: number, signal?: AbortSignal) => Seeker;
}

interface Seeker {
  readonly waiting: Waiting;
  readonly came: () => boolean;
}

function rig(seed = 1): Rig {
  const world = new VirtualWorld({ seed });
  const signs = new Signs(world, POLL_MS);
  return {
    world,
    signs,
    wait: (wants = () => true, maxMs = LONG_MS, signal) => {
      const waiting = signs.enter({ wants, signal });
      waiting.looking();
      return { waiting, came: follow(waiting.sign(maxMs)) };
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

test('a sign lets a few look of very many, those that have waited longest', async () => {
  const { world, signs, wait } = rig();
  const seekers = Array.from({ length: 1000 }, () => wait());
  signs.wake();
  await world.settle();
  assert.equal(countOf(seekers), 8);
  assert.equal(countOf(seekers.slice(0, 8)), 8);
});

test('while there is more than they take, twice as many look each time, until all have', async () => {
  const { world, signs, wait } = rig();
  const seekers = Array.from({ length: 100 }, () => wait());
  const waves: number[] = [];
  signs.wake();
  for (let done = 0; done < 100; ) {
    await world.settle();
    const chosen = seekers.slice(done).filter(({ came }) => came());
    waves.push(chosen.length);
    done += chosen.length;
    for (const { waiting } of chosen) waiting.leave();
  }
  assert.deepEqual(waves, [8, 16, 32, 44]);
  assert.equal(signs.awaited, false);
  assert.deepEqual(world.waits, []);
});

test('once there is nothing more nobody else looks, and the next sign begins with a few', async () => {
  const { world, signs, wait } = rig();
  let some = true;
  const seekers = Array.from({ length: 100 }, () => wait(() => some));
  signs.wake();
  await world.settle();
  some = false;
  for (const { waiting } of seekers.slice(0, 8)) waiting.leave();
  await world.settle();
  assert.equal(countOf(seekers), 8);
  some = true;
  signs.wake();
  await world.settle();
  assert.equal(countOf(seekers), 16);
});

test('only those look who want what there is, however many wait before them', async () => {
  const { world, signs, wait } = rig();
  const others = Array.from({ length: 100 }, () => wait(() => false));
  const one = wait();
  signs.wake();
  await world.settle();
  assert.equal(one.came(), true);
  assert.equal(countOf(others), 0);
});

test('who looked in vain does not look again at the same sign, and others do', async () => {
  const { world, signs, wait } = rig();
  const seekers = Array.from({ length: 20 }, () => wait());
  signs.wake();
  await world.settle();
  const again = seekers.slice(0, 8).map(({ waiting }) => {
    waiting.looking();
    return follow(waiting.sign(LONG_MS));
  });
  await world.settle();
  assert.equal(countOf(seekers), 20);
  assert.deepEqual(
    again.map((came) => came()),
    again.map(() => false),
  );
});

test('a sign that comes during a look counts for the next one', async () => {
  const { world, signs } = rig();
  const waiting = signs.enter({ wants: () => true });
  waiting.looking();
  signs.wake();
  const came = follow(waiting.sign(LONG_MS));
  await world.settle();
  assert.equal(came(), true);
});

test('a sign that comes before a look begins is seen by that look', async () => {
  const { world, signs } = rig();
  const waiting = signs.enter({ wants: () => true });
  signs.wake();
  waiting.looking();
  const came = follow(waiting.sign(LONG_MS));
  await world.advance(POLL_MS / 2 - 1);
  assert.equal(came(), false);
});

test('when nobody knows what there is, one looks for all', async () => {
  const { world, signs, wait } = rig();
  const seekers = Array.from({ length: 100 }, () => wait(() => false));
  signs.call();
  await world.settle();
  assert.equal(countOf(seekers), 1);
});

test('a call that comes while all are looking is heard by the first that is back', async () => {
  const { world, signs } = rig();
  const waiting = signs.enter({ wants: () => false });
  waiting.looking();
  signs.call();
  const came = follow(waiting.sign(LONG_MS));
  await world.settle();
  assert.equal(came(), true);
});

test('without a sign one of all looks within a second, another one each time', async () => {
  const { world, wait } = rig();
  const seekers = Array.from({ length: 5 }, () => wait(() => false));
  for (let n = 1; n <= 3; n++) {
    await world.advance(POLL_MS);
    const count = countOf(seekers);
    // One poll or two: each comes after half a second to a second.
    assert.ok(count >= n && count <= 2 * n, `${count} after ${n} s`);
  }
});

test('the poll comes earlier by chance, so that processes do not poll together', () => {
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
  const { world, signs, wait } = rig();
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
  assert.equal(signs.awaited, true, 'they have not left');
});

test('who leaves in the middle of a look makes room for the next', async () => {
  const { world, signs, wait } = rig();
  const seekers = Array.from({ length: 9 }, () => wait());
  signs.wake();
  await world.settle();
  assert.equal(seekers[8]?.came(), false);
  for (const { waiting } of seekers.slice(0, 1)) waiting.leave();
  await world.settle();
  assert.equal(seekers[8]?.came(), true);
});

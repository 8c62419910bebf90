import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import { Wakeups } from './wakeups.ts';

/** Whether a wait has been resolved. */
function follow(came: Promise<void>): () => boolean {
  let done = false;
  void came.then(() => {
    done = true;
  });
  return () => done;
}

test('a wake-up wakes every waiter, once', async () => {
  const world = new VirtualWorld();
  const wakeups = new Wakeups(world, 1000);
  const waits = [wakeups.arm(), wakeups.arm()].map(({ woken }) => follow(woken));
  assert.equal(wakeups.awaited, true);
  wakeups.wake();
  await world.settle();
  assert.deepEqual(
    waits.map((came) => came()),
    [true, true],
  );
  assert.equal(wakeups.awaited, false);
  assert.deepEqual(world.waits, []);
});

test('a wake-up that comes between the arming and the wait is not missed', async () => {
  const wakeups = new Wakeups(new VirtualWorld(), 1000);
  const { woken: came } = wakeups.arm();
  wakeups.wake();
  await came;
});

test('a wake-up that comes while nobody waits is lost', async () => {
  const world = new VirtualWorld();
  const wakeups = new Wakeups(world, 1000);
  wakeups.wake();
  const came = follow(wakeups.arm().woken);
  await world.advance(500);
  assert.equal(came(), false);
});

test('without a wake-up the poll comes in time, at a random moment so that processes do not poll together', async () => {
  const waits = new Set<number>();
  for (let seed = 1; seed <= 50; seed++) {
    const world = new VirtualWorld({ seed });
    new Wakeups(world, 1000).arm();
    const [wait] = world.waits;
    assert.ok(wait !== undefined && wait >= 500 && wait < 1000, `${wait}`);
    waits.add(Math.round(wait / 100));
  }
  assert.ok(waits.size >= 4);
});

test('a wait ends at its own limit when that is before the poll', async () => {
  const world = new VirtualWorld();
  const wakeups = new Wakeups(world, 1000);
  const came = follow(wakeups.arm(undefined, 40).woken);
  await world.advance(39);
  assert.equal(came(), false);
  await world.advance(1);
  assert.equal(came(), true);
  assert.equal(wakeups.awaited, false);
});

test('an abort ends the wait at once', async () => {
  const world = new VirtualWorld();
  const wakeups = new Wakeups(world, 1000);
  const control = new AbortController();
  const came = follow(wakeups.arm(control.signal).woken);
  control.abort();
  await world.settle();
  assert.equal(came(), true);
  assert.deepEqual(world.waits, []);
});

test('a wait that is forgotten leaves no timer and no listener, and is woken no more', async () => {
  const world = new VirtualWorld();
  const wakeups = new Wakeups(world, 1000);
  const control = new AbortController();
  const { woken: came, forget } = wakeups.arm(control.signal);
  const woken = follow(came);
  forget();
  assert.equal(wakeups.awaited, false);
  assert.deepEqual(world.waits, []);
  wakeups.wake();
  control.abort();
  await world.advance(5000);
  assert.equal(woken(), false);
});

test('a waiter that waits again from within a wake-up waits for the next one', async () => {
  const world = new VirtualWorld();
  const wakeups = new Wakeups(world, 1000);
  let again: (() => boolean) | undefined;
  void wakeups.arm().woken.then(() => {
    again = follow(wakeups.arm().woken);
  });
  wakeups.wake();
  await world.settle();
  assert.equal(again?.(), false);
  wakeups.wake();
  await world.settle();
  assert.equal(again?.(), true);
});

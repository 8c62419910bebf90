import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from './virtual-world.ts';

test('time stands still until it is moved, and then both clocks move together', async () => {
  const world = new VirtualWorld({ wall: 1000, monotonic: 50 });
  assert.deepEqual([world.clock.wall(), world.clock.monotonic()], [1000, 50]);
  await world.advance(25);
  assert.deepEqual([world.clock.wall(), world.clock.monotonic()], [1025, 75]);
});

test('setting the wall clock moves it alone, in both directions', () => {
  const world = new VirtualWorld({ wall: 1000, monotonic: 50 });
  world.jump(-600);
  assert.deepEqual([world.clock.wall(), world.clock.monotonic()], [400, 50]);
});

test('timers fire in the order of their times, each at its own instant, equal ones as they were set', async () => {
  const world = new VirtualWorld({ monotonic: 0 });
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name}@${world.clock.monotonic()}`);
  world.timers.after(30, note('c'));
  world.timers.after(10, note('a'));
  world.timers.after(30, note('d'));
  world.timers.after(20, note('b'));
  assert.deepEqual(world.waits, [10, 20, 30, 30]);
  await world.advance(29);
  assert.deepEqual(fired, ['a@10', 'b@20']);
  await world.advance(1);
  assert.deepEqual(fired, ['a@10', 'b@20', 'c@30', 'd@30']);
});

test('a timer that is set by another one fires in the same advance when its time comes', async () => {
  const world = new VirtualWorld({ monotonic: 0 });
  const fired: number[] = [];
  const again = (): void => {
    fired.push(world.clock.monotonic());
    world.timers.after(10, () => world.timers.soon(again));
  };
  world.timers.after(10, again);
  await world.advance(45);
  assert.deepEqual(fired, [10, 20, 30, 40]);
});

test('a timer that was taken back does not fire', async () => {
  const world = new VirtualWorld();
  const cancel = world.timers.after(1, () => assert.fail('it fired'));
  cancel();
  await world.advance(10);
  assert.deepEqual(world.waits, []);
});

test('time that elapses without the process fires nothing until the next advance', async () => {
  const world = new VirtualWorld({ monotonic: 0 });
  let at = -1;
  world.timers.after(5, () => {
    at = world.clock.monotonic();
  });
  world.elapse(100);
  assert.equal(at, -1);
  await world.advance(0);
  assert.equal(at, 100);
});

test('settling waits for every turn that was asked for', async () => {
  const world = new VirtualWorld();
  let turns = 0;
  const more = (): void => {
    if (++turns < 50) world.timers.soon(more);
  };
  world.timers.soon(more);
  await world.settle();
  assert.equal(turns, 50);
});

test('the same seed draws the same numbers in [0, 1), another seed draws others', () => {
  const draw = (seed: number): number[] => {
    const { random } = new VirtualWorld({ seed });
    return Array.from({ length: 1000 }, () => random());
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  assert.ok(draw(7).every((n) => n >= 0 && n < 1));
});

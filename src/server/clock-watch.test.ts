import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../testing.ts';
import { watchClock } from './clock-watch.ts';

test('a calendar that is set by more than five minutes is told once, either way, and one that is corrected is not', async () => {
  const world = new VirtualWorld();
  const said: unknown[] = [];
  const note = (_message: string, fields?: object): void => void said.push(fields);
  let set = 0;
  const clock = { wall: () => world.clock.wall() + set, monotonic: world.clock.monotonic };
  const stop = watchClock(
    { clock, random: world.random, timers: world.timers },
    { info: note, warn: note, error: note },
  );
  await world.advance(60_000);
  set = 299_000;
  await world.advance(60_000);
  assert.deepEqual(said, []);
  set += 86_400_000;
  await world.advance(60_000);
  set -= 7_200_000;
  await world.advance(60_000);
  assert.deepEqual(said, [{ byMs: 86_400_000 }, { byMs: -7_200_000 }]);
  stop();
  assert.deepEqual(world.waits, []);
});

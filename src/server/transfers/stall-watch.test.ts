import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { watchStalls } from './stall-watch.ts';

const TERMS = { tickMs: 1000, bytesPerTick: 100, ticksInARow: 3, ticksInAll: 6 };

/** One transfer; each step is what came in a tick, and whether it was the turn of the other side. */
function stallsAt(
  size: number,
  steps: readonly (readonly [bytes: number, theirTurn: boolean])[],
  tick: () => void,
): number {
  const socket = { bytesRead: 0, bytesWritten: 0 };
  let theirTurn = true;
  let at = -1;
  const end = watchStalls(
    {
      socket: socket as unknown as Socket,
      way: 'put',
      size,
      isTheirTurn: () => theirTurn,
      onStall: () => {
        at = now;
      },
    },
    TERMS,
  );
  let now = 0;
  for (const [bytes, turn] of steps) {
    now += 1;
    socket.bytesRead += bytes;
    theirTurn = turn;
    tick();
  }
  end();
  return at;
}

test('a sender that almost stands still is cut off, and our own slowness never counts', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const tick = (): void => t.mock.timers.tick(1000);
  const times = (count: number, step: readonly [number, boolean]) => Array.from({ length: count }, () => step);
  assert.equal(stallsAt(1e6, times(3, [10, true]), tick), 3, 'three slow ticks in a row');
  assert.equal(stallsAt(1e6, times(50, [100, true]), tick), -1, 'the least pace is enough');
  assert.equal(stallsAt(1e6, times(50, [0, false]), tick), -1, 'it is our turn');
  const trickle = Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? [500, true] : [0, true]) as [number, boolean]);
  assert.equal(stallsAt(1e6, trickle, tick), -1, 'it comes and goes within the time that its size allows');
  assert.ok(stallsAt(200, trickle, tick) > 0, 'no longer than its size allows');
});

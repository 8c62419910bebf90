import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../store/conformance/kit/virtual-world.ts';
import { boundedCall } from './bounded-call.ts';

test('a call that does not hear of its stop is left behind after a moment', async () => {
  const world = new VirtualWorld();
  const stop = new AbortController();
  const call = boundedCall(world.timers, stop.signal, () => new Promise<never>(() => {}));
  call.catch(() => {});
  await world.advance(60_000);
  stop.abort(new Error('cancelled'));
  await world.advance(4_999);
  assert.deepEqual(world.waits, [1]);
  await world.advance(1);
  await assert.rejects(call, /cancelled/);
});

test('a call that ends after its stop says how it ended, and leaves no timer', async () => {
  const world = new VirtualWorld();
  const stop = new AbortController();
  const own = Promise.withResolvers<string>();
  const call = boundedCall(world.timers, stop.signal, () => own.promise);
  stop.abort(new Error('cancelled'));
  own.resolve('it is over');
  assert.equal(await call, 'it is over');
  await world.settle();
  assert.deepEqual(world.waits, []);
});

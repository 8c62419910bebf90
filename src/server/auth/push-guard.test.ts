import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { VirtualWorld } from '../../testing.ts';
import { type PushBounds, PushGuard } from './push-guard.ts';

function rig(bounds: Partial<PushBounds>) {
  const world = new VirtualWorld();
  const ready = new Map<string, number>();
  let looks = 0;
  const guard = new PushGuard({
    bounds: { rate: 0, queued: 0, queuedInAll: 0, ...bounds },
    clock: world.clock,
    queues: async () => {
      looks++;
      const none = { ready: 0, running: 1, scheduled: 1, waiting: 1, completed: 900, failed: 900, cancelled: 900 };
      return [...ready].map(([name, n]) => ({ name, paused: false, stats: { ...none, ready: n - 3 } }));
    },
  });
  /** When to come back; 0: it was let in. */
  const admit = async (count: number, queue = 'q', caller = 'ada'): Promise<number> => {
    try {
      await guard.admit(caller, new Map([[queue, count]]));
      return 0;
    } catch (error) {
      assert.ok(isEngineError(error, 'TOO_MANY'), String(error));
      return Number(error.details?.retryAfterMs);
    }
  };
  return { world, ready, guard, admit, looks: () => looks };
}

test('a caller may push ten seconds of its rate at once, and waits then for as long as that takes', async () => {
  const { admit, world } = rig({ rate: 100 });
  assert.equal(await admit(600), 0);
  assert.equal(await admit(400), 0);
  assert.equal(await admit(1), 10);
  assert.equal(await admit(1, 'q', 'bob'), 0, 'others do not wait for it');
  await world.advance(10);
  assert.equal(await admit(1), 0);
  await world.advance(60_000);
  assert.equal(await admit(1000), 0);
  assert.equal(await admit(1), 10, 'no more than ten seconds are saved up');
});

test('a batch that is larger than all that is left is taken once, and has to be waited for', async () => {
  const { admit, world } = rig({ rate: 100 });
  assert.equal(await admit(5000), 0);
  const waitMs = await admit(1);
  assert.equal(waitMs, 40_010);
  await world.advance(waitMs - 20);
  assert.ok((await admit(1)) > 0);
  await world.advance(20);
  assert.equal(await admit(1), 0);
});

test('what is refused costs nothing', async () => {
  const { admit, world, ready } = rig({ rate: 100, queued: 10 });
  ready.set('q', 10);
  for (let n = 0; n < 50; n++) assert.ok((await admit(1000)) > 0);
  ready.set('q', 3);
  await world.advance(500);
  assert.equal(await admit(7), 0);
});

test('a queue takes no more than its bound of unfinished tasks, also of those that came since the last look', async () => {
  const { admit, ready, world, looks } = rig({ queued: 100 });
  ready.set('q', 90);
  assert.equal(await admit(10), 0);
  assert.equal(await admit(1), 5000);
  assert.equal(await admit(100, 'other'), 0);
  assert.equal(looks(), 1, 'once for all of them');
  await world.advance(500);
  ready.set('q', 60);
  assert.equal(await admit(40), 0);
  assert.ok((await admit(1)) > 0);
});

test('all queues together have a bound as well: many small ones are no way around it', async () => {
  const { admit, ready } = rig({ queued: 100, queuedInAll: 150 });
  ready.set('a', 99).set('b', 41);
  assert.equal(await admit(10, 'c'), 0);
  assert.equal(await admit(1, 'd'), 5000);
});

test('calls at once share one look, and together do not go over the bound', async () => {
  const { admit, looks, ready } = rig({ queued: 100 });
  ready.set('q', 50);
  const answers = await Promise.all(Array.from({ length: 200 }, () => admit(1)));
  assert.equal(answers.filter((wait) => wait === 0).length, 50);
  assert.equal(looks(), 1);
});

test('without bounds nothing is asked and nobody waits', async () => {
  const { admit, looks } = rig({});
  for (let n = 0; n < 100; n++) assert.equal(await admit(1_000_000), 0);
  assert.equal(looks(), 0);
});

test('more callers than are remembered are let in all the same', async () => {
  const { admit } = rig({ rate: 1 });
  for (let n = 0; n < 10_050; n++) assert.equal(await admit(1, 'q', `caller ${n}`), 0);
});

test('a store that cannot be asked refuses the push, and is asked again by the next one', async () => {
  const world = new VirtualWorld();
  let fails = true;
  const queues = (): Promise<readonly never[]> => (fails ? Promise.reject(new Error('away')) : Promise.resolve([]));
  const guard = new PushGuard({ bounds: { rate: 0, queued: 1, queuedInAll: 0 }, clock: world.clock, queues });
  await assert.rejects(guard.admit('ada', new Map([['q', 1]])), /away/);
  fails = false;
  await guard.admit('ada', new Map([['q', 1]]));
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault } from '../../core/errors.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { DutyTenure, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import type { Log } from '../log.ts';
import { type Duty, Keeper, type PassResult } from './duty.ts';

const TTL = 6000;

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  /** What was logged, as `level message`. */
  readonly logged: string[];
  /** How often each verb of the store was called. */
  readonly calls: Record<'dutyTake' | 'dutyRenew' | 'dutyRelease', number>;
  /** Makes the next calls of the store fail. */
  fails: Error | undefined;
  /** Makes the log throw, after it has recorded its line. */
  logFails: boolean;
  readonly keeper: (duty: Partial<Duty>, holder?: string, yields?: () => Promise<boolean>) => Keeper;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const logged: string[] = [];
  const note = (line: string): void => {
    logged.push(line);
    if (it.logFails) throw new Error('the log is gone');
  };
  const log: Log = {
    info: (message) => note(`info ${message}`),
    warn: (message) => note(`warn ${message}`),
    error: (message) => note(`error ${message}`),
  };
  const calls = { dutyTake: 0, dutyRenew: 0, dutyRelease: 0 };
  const counted = <K extends keyof typeof calls>(verb: K): Store[K] =>
    ((params: never) => {
      calls[verb]++;
      return it.fails === undefined
        ? (store[verb] as (params: never) => Promise<unknown>)(params)
        : Promise.reject(it.fails);
    }) as Store[K];
  const faulty = {
    dutyTake: counted('dutyTake'),
    dutyRenew: counted('dutyRenew'),
    dutyRelease: counted('dutyRelease'),
  };
  const it: Rig = {
    world,
    store,
    logged,
    calls,
    fails: undefined,
    logFails: false,
    keeper: (duty, holder = 'a', yields) => {
      const keeper = new Keeper(
        { name: 'test', intervalMs: 1000, tick: () => Promise.resolve({ did: 0 }), ...duty },
        { store: faulty, world, log, holder, ttlMs: TTL, yields },
      );
      t.after(() => keeper.stop());
      return keeper;
    },
  };
  return it;
}

/** Holds a pass up until the gate is opened; a test that fails opens it too, so that its keeper can stop. */
function gateFor(t: TestContext): { readonly promise: Promise<void>; readonly resolve: () => void } {
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  return gate;
}

/** A duty that records when it ran. */
function noting(
  world: VirtualWorld,
  pass: (n: number) => PassResult = () => ({ did: 0 }),
): {
  ran: number[];
  terms: DutyTenure[];
  tick: Duty['tick'];
} {
  const start = world.clock.monotonic();
  const ran: number[] = [];
  const terms: DutyTenure[] = [];
  return {
    ran,
    terms,
    tick: (term) => {
      ran.push(world.clock.monotonic() - start);
      terms.push(term);
      return Promise.resolve(pass(ran.length));
    },
  };
}

test('a pass takes the duty and does its work, and the amounts are summed up', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world, (n) => ({ did: n }));
  const one = keeper(duty);
  assert.equal(one.holding, false);
  assert.equal(await one.tick(), 1);
  assert.equal(await one.tick(), 2);
  assert.equal(one.holding, true);
  assert.equal(one.done, 3);
  assert.deepEqual(duty.terms[0], { name: 'test', epoch: 1, cursor: 0, vacant: true });
});

test('a started keeper works once at the beginning of its term, and then at each interval', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world);
  keeper({ ...duty, intervalMs: 1500 }).start();
  await world.advance(5000);
  assert.deepEqual(duty.ran, [0, 1500, 3000, 4500]);
});

test('a duty that knows when its next work is due runs then', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world, (n) => ({ did: 0, nextInMs: n === 1 ? 300 : undefined }));
  keeper(duty).start();
  await world.advance(1400);
  assert.deepEqual(duty.ran, [0, 300, 1300]);
});

test('a duty that has more to do runs again at once', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world, (n) => ({ did: 1, more: n < 4 }));
  const one = keeper(duty);
  one.start();
  await world.advance(10);
  assert.deepEqual(duty.ran, [0, 0, 0, 0]);
  assert.equal(one.done, 4);
});

test('a nudge wakes a sleeping duty earlier, and never later', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world);
  const one = keeper(duty);
  one.start();
  await world.advance(100);
  one.nudge(200);
  one.nudge(5000);
  await world.advance(250);
  assert.deepEqual(duty.ran, [0, 300]);
});

test('a nudge that comes during a pass is not lost', async (t) => {
  const { keeper, world } = await rig(t);
  let release = (): void => {};
  const ran: number[] = [];
  const start = world.clock.monotonic();
  const one = keeper({
    tick: async () => {
      ran.push(world.clock.monotonic() - start);
      if (ran.length === 1) await new Promise<void>((resolve) => void (release = resolve));
      return { did: 0 };
    },
  });
  one.start();
  await world.advance(100);
  one.nudge(50);
  await world.advance(20);
  release();
  await world.advance(100);
  assert.deepEqual(ran, [0, 150]);
});

test('a nudge does not make a keeper take a duty that it does not hold', async (t) => {
  const { keeper, world, calls } = await rig(t);
  const waiting = noting(world);
  const holder = keeper({}, 'a');
  const other = keeper({ ...waiting, intervalMs: 600_000 }, 'b');
  holder.start();
  await world.advance(10);
  other.start();
  await world.advance(10);
  const takes = calls.dutyTake;
  for (let n = 0; n < 50; n++) {
    other.nudge(2);
    await world.advance(5);
  }
  assert.equal(calls.dutyTake, takes);
  await holder.stop();
  await world.advance(TTL / 3);
  assert.equal(other.holding, true);
  assert.equal(waiting.ran.length, 1, 'a new term begins with work');
});

test('a nudge to a keeper that was not started does nothing', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world);
  keeper(duty).nudge(1);
  await world.advance(5000);
  assert.deepEqual(duty.ran, []);
});

test('a term is renewed after a third of it, and not by working more often', async (t) => {
  const { keeper, world, calls } = await rig(t);
  const duty = noting(world);
  const one = keeper({ ...duty, intervalMs: 600_000 });
  one.start();
  await world.advance(TTL / 3 - 1);
  assert.equal(calls.dutyRenew, 0);
  await world.advance(1);
  assert.equal(calls.dutyRenew, 1);
  await world.advance(60_000);
  assert.equal(one.holding, true);
  assert.deepEqual(duty.ran, [0], 'it worked when it had only to renew');
  const renewals: number = calls.dutyRenew;
  assert.ok(renewals >= 29 && renewals <= 31, `${renewals} renewals`);
});

test('a term is renewed while a pass that outlasts it is under way, and no other keeper becomes the holder', async (t) => {
  const { keeper, world, calls } = await rig(t);
  const gate = gateFor(t);
  const second = noting(world);
  const one = keeper({ tick: () => gate.promise.then(() => ({ did: 1 })) }, 'a');
  const two = keeper(second, 'b');
  one.start();
  await world.advance(10);
  two.start();
  await world.advance(5 * TTL);
  assert.deepEqual([one.holding, two.holding], [true, false]);
  assert.deepEqual(second.ran, []);
  assert.equal(calls.dutyRenew, 15);
  gate.resolve();
  await world.settle();
  assert.equal(one.done, 1);
});

test('a renewal that fails during a pass is logged and tried again, and the pass goes on', async (t) => {
  const it = await rig(t);
  const gate = gateFor(t);
  const one = it.keeper({ tick: () => gate.promise.then(() => ({ did: 1 })) });
  one.start();
  await it.world.advance(10);
  it.fails = fault('STORE_BUSY');
  await it.world.advance(TTL / 3);
  it.fails = undefined;
  assert.deepEqual(it.logged, ['warn a duty could not be renewed and will try again']);
  await it.world.advance(2 * TTL);
  assert.equal(await it.store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }), undefined);
  gate.resolve();
  await it.world.settle();
  assert.equal(one.done, 1);
});

test('a keeper that is deposed during a pass renews no more', async (t) => {
  const { keeper, world, store, calls } = await rig(t);
  const gate = gateFor(t);
  const one = keeper({ tick: () => gate.promise.then(() => Promise.reject(fault('DUTY_LOST', { duty: 'test' }))) });
  one.start();
  await world.advance(10);
  world.elapse(TTL + 1); // The process was stopped for longer than its term.
  assert.ok(await store.dutyTake({ name: 'test', holder: 'b', ttlMs: 100 * TTL }));
  await world.advance(3 * TTL);
  assert.equal(one.holding, false);
  assert.equal(calls.dutyRenew, 1);
  gate.resolve();
  await world.settle();
  assert.equal(one.holding, false);
});

test('a stop during a pass leaves no timer of its renewals, and gives the duty back', async (t) => {
  const { keeper, world, store } = await rig(t);
  const gate = gateFor(t);
  const one = keeper({ tick: () => gate.promise.then(() => ({ did: 1 })) });
  one.start();
  await world.advance(TTL);
  const stopping = one.stop();
  await world.advance(TTL);
  gate.resolve();
  await stopping;
  assert.deepEqual(world.waits, []);
  assert.equal((await store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }))?.vacant, true);
});

test('of two keepers one holds the duty, and the other waits without working', async (t) => {
  const { keeper, world } = await rig(t);
  const first = noting(world);
  const second = noting(world);
  const one = keeper(first, 'a');
  const two = keeper(second, 'b');
  one.start();
  await world.advance(10);
  two.start();
  await world.advance(30_000);
  assert.deepEqual([one.holding, two.holding], [true, false]);
  assert.equal(second.ran.length, 0);
  assert.ok(first.ran.length >= 29);
});

test('a stop gives the duty back, and the other keeper takes over at its next look with a vacant term', async (t) => {
  const { keeper, world } = await rig(t);
  const second = noting(world);
  const one = keeper({}, 'a');
  const two = keeper({ ...second, intervalMs: 600_000 }, 'b');
  one.start();
  await world.advance(10);
  two.start();
  await world.advance(3000);
  await one.stop();
  assert.equal(one.holding, false);
  await world.advance(TTL / 3);
  assert.equal(two.holding, true);
  assert.deepEqual(second.terms, [{ name: 'test', epoch: 2, cursor: 0, vacant: true }]);
});

test('a crash leaves the duty to expire, and its successor learns that it was not vacant', async (t) => {
  const { keeper, world, store } = await rig(t);
  await store.dutyTake({ name: 'test', holder: 'crashed', ttlMs: TTL });
  const duty = noting(world);
  const one = keeper(duty);
  one.start();
  await world.advance(TTL);
  assert.deepEqual(duty.ran, []);
  await world.advance(TTL / 3);
  assert.deepEqual(duty.terms[0], { name: 'test', epoch: 2, cursor: 0, vacant: false });
});

test('each term begins once', async (t) => {
  const { keeper, world } = await rig(t);
  const begun: number[] = [];
  const one = keeper({ begin: ({ epoch }) => void begun.push(epoch) });
  await one.tick();
  await one.tick();
  assert.deepEqual(begun, [1]);
  world.elapse(TTL + 1); // The process was stopped for longer than its term.
  await one.tick();
  await one.tick();
  assert.deepEqual(begun, [1, 2]);
});

test('a keeper whose renewal is refused stops working', async (t) => {
  const { keeper, world, store } = await rig(t);
  const duty = noting(world);
  const one = keeper(duty);
  await one.tick();
  world.elapse(TTL + 1);
  assert.ok(await store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }));
  assert.equal(await one.tick(), 0);
  assert.equal(one.holding, false);
  assert.equal(duty.ran.length, 1);
});

test('a keeper whose work is refused with DUTY_LOST stops, and tries again later', async (t) => {
  const { keeper, world, logged } = await rig(t);
  let lost = true;
  const one = keeper({
    tick: () => (lost ? Promise.reject(fault('DUTY_LOST', { duty: 'test' })) : Promise.resolve({ did: 5 })),
  });
  assert.equal(await one.tick(), 0);
  assert.equal(one.holding, false);
  lost = false;
  await world.advance(TTL + 1);
  assert.equal(await one.tick(), 5);
  assert.deepEqual(logged, []);
});

test('an error of the store is logged, and the duty goes on a second later', async (t) => {
  const it = await rig(t);
  let broken = true;
  const one = it.keeper({
    intervalMs: 600_000,
    tick: () => (broken ? Promise.reject(fault('STORE_BUSY')) : Promise.resolve({ did: 7 })),
  });
  one.start();
  await it.world.advance(10);
  assert.deepEqual(it.logged, ['warn a duty failed and will try again']);
  broken = false;
  await it.world.advance(1000);
  assert.equal(one.done, 7);
});

test('a renewal that fails is tried again before the term is over', async (t) => {
  const it = await rig(t);
  const one = it.keeper({});
  one.start();
  await it.world.advance(100);
  it.fails = fault('STORE_BUSY');
  await it.world.advance(TTL / 3 + 1000);
  it.fails = undefined;
  await it.world.advance(1000);
  assert.equal(one.holding, true);
  assert.equal(it.calls.dutyTake, 1, 'it had to take the duty anew');
});

test('a log that throws ends neither the process nor the duty', async (t) => {
  const it = await rig(t);
  it.logFails = true;
  let broken = true;
  const one = it.keeper({ tick: () => (broken ? Promise.reject(fault('STORE_BUSY')) : Promise.resolve({ did: 7 })) });
  one.start();
  await it.world.advance(2500);
  assert.equal(it.logged.length, 3);
  broken = false;
  await it.world.advance(1000);
  assert.equal(one.done, 7);
  it.fails = fault('STORE_UNAVAILABLE');
  await one.stop();
  assert.equal(it.logged.at(-1), 'warn a duty could not be given back; it will expire');
});

test('simultaneous passes run one after another, and the duty stays held until the stop', async (t) => {
  const { keeper, world, store, calls } = await rig(t);
  let under = 0;
  const one = keeper({
    tick: async () => {
      assert.equal(++under, 1, 'two passes at once');
      await new Promise<void>(world.timers.soon);
      under--;
      return { did: 1 };
    },
  });
  one.start();
  const passes = [one.tick(), one.tick()];
  await world.advance(0);
  assert.deepEqual(await Promise.all(passes), [1, 1]);
  assert.equal(one.done, 3);
  assert.equal(one.holding, true);
  assert.equal(calls.dutyTake, 1);
  await one.stop();
  assert.equal((await store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }))?.vacant, true);
});

test('a pass sees what was written before it was requested', async (t) => {
  const { keeper, world } = await rig(t);
  const gate = gateFor(t);
  let written = 0;
  const one = keeper({
    tick: async () => {
      const seen = written;
      await gate.promise;
      return { did: seen };
    },
  });
  const first = one.tick();
  await world.settle();
  written = 5;
  const second = one.tick();
  gate.resolve();
  assert.deepEqual([await first, await second], [0, 5]);
});

test('a pass that fails does not stop the one that waits for it, nor the stop', async (t) => {
  const { keeper } = await rig(t);
  let ran = 0;
  const one = keeper({
    tick: () => (++ran === 1 ? Promise.reject(fault('STORE_BUSY')) : Promise.resolve({ did: 2 })),
  });
  const [first, second] = await Promise.allSettled([one.tick(), one.tick(), one.stop()]);
  assert.equal(first.status, 'rejected');
  assert.deepEqual(second, { status: 'fulfilled', value: 2 });
  assert.equal(one.holding, false);
});

test('a stop waits for the pass under way, and then nothing runs any more', async (t) => {
  const { keeper, world } = await rig(t);
  let release = (): void => {};
  let ran = 0;
  const one = keeper({
    tick: async () => {
      ran++;
      await new Promise<void>((resolve) => void (release = resolve));
      return { did: 1 };
    },
  });
  one.start();
  await world.advance(10);
  let stopped = false;
  const stopping = one.stop().then(() => {
    stopped = true;
  });
  await world.settle();
  assert.equal(stopped, false);
  release();
  await stopping;
  await world.advance(10_000);
  assert.equal(ran, 1);
  assert.deepEqual(world.waits, []);
});

test('a duty that cannot be given back is left to expire, and that is logged', async (t) => {
  const it = await rig(t);
  const one = it.keeper({});
  await one.tick();
  it.fails = fault('STORE_UNAVAILABLE');
  await one.stop();
  assert.deepEqual(it.logged, ['warn a duty could not be given back; it will expire']);
});

test('a stop before the start, and a second stop, do no harm', async (t) => {
  const { keeper, calls } = await rig(t);
  const one = keeper({});
  await one.stop();
  await one.tick();
  await one.stop();
  await one.stop();
  assert.equal(calls.dutyRelease, 1);
});

test('a keeper can be started again', async (t) => {
  const { keeper, world } = await rig(t);
  const duty = noting(world);
  const one = keeper(duty);
  one.start();
  await world.advance(100);
  await one.stop();
  await world.advance(5000);
  one.start();
  await world.advance(100);
  assert.deepEqual(duty.ran, [0, 5100]);
});

test('a pass that hangs does not keep the duty from others for ever', async (t) => {
  const { keeper, world, store } = await rig(t);
  const gate = gateFor(t);
  const one = keeper({
    tick: async () => {
      await gate.promise; // A call that is never answered.
      return { did: 0 };
    },
  });
  one.start();
  await world.advance(5 * TTL);
  assert.equal(await store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }), undefined, 'a long pass was deposed');
  await world.advance(10 * TTL);
  assert.equal((await store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }))?.epoch, 2);
});

test('a pass learns since when it has been tried, failed renewals included', async (t) => {
  const it = await rig(t);
  const start = it.world.clock.monotonic();
  const heard: (readonly [at: number, since: number])[] = [];
  it.keeper({
    tick: (_term, since) => {
      heard.push([it.world.clock.monotonic() - start, since - start]);
      return Promise.resolve({ did: 0 });
    },
  }).start();
  await it.world.advance(1500);
  it.fails = fault('STORE_UNAVAILABLE', { problem: 'no route' });
  await it.world.advance(3000);
  it.fails = undefined;
  await it.world.advance(1600);
  assert.deepEqual(heard, [
    [0, 0],
    [1000, 1000],
    [5000, TTL / 3],
    [6000, 6000],
  ]);
});

test('a renewal that took long is followed by a pass, which learns of it', async (t) => {
  const { world, store } = await rig(t);
  const start = world.clock.monotonic();
  const heard: (readonly [at: number, since: number])[] = [];
  let renewals = 0;
  const slow: Pick<Store, 'dutyTake' | 'dutyRenew' | 'dutyRelease'> = {
    dutyTake: (params) => store.dutyTake(params),
    dutyRelease: (params) => store.dutyRelease(params),
    dutyRenew: async (params) => {
      if (renewals++ === 0) await new Promise<void>((resolve) => void world.timers.after(3000, resolve));
      return store.dutyRenew(params);
    },
  };
  const keeper = new Keeper(
    {
      name: 'test',
      intervalMs: 60_000,
      tick: (_term, since) => {
        heard.push([world.clock.monotonic() - start, since - start]);
        return Promise.resolve({ did: 0 });
      },
    },
    { store: slow, world, log: { info: () => {}, warn: () => {}, error: () => {} }, holder: 'a', ttlMs: TTL },
  );
  keeper.start();
  await world.advance(TTL / 3 + 3100);
  assert.deepEqual(heard, [
    [0, 0],
    [TTL / 3 + 3000, TTL / 3],
  ]);
  await keeper.stop();
});

test('a keeper that yields takes no duty, and gives back a held one when its term is to be renewed', async (t) => {
  const { world, store, calls, keeper } = await rig(t);
  let yields = true;
  let ticks = 0;
  const one = keeper({ tick: async () => ({ did: ticks++ }) }, 'a', async () => yields);
  one.start();
  await world.advance(3 * TTL);
  assert.deepEqual([calls.dutyTake, ticks], [0, 0]);
  yields = false;
  await world.advance(TTL / 3);
  assert.equal(one.holding, true);
  const worked = ticks;
  assert.ok(worked > 0);
  yields = true;
  await world.advance(TTL / 3);
  assert.equal(one.holding, false);
  assert.equal(calls.dutyRelease, 1);
  assert.ok(await store.dutyTake({ name: 'test', holder: 'b', ttlMs: TTL }), 'it is free for the others');
});

test('duties of one process that were taken at different times are renewed together, each within a third of its term', async (t) => {
  const { keeper, store, world } = await rig(t);
  const renewals = t.mock.method(store, 'dutyRenew');
  const times = new Map<string, number[]>();
  for (const name of ['one', 'two', 'three']) {
    keeper({ name, intervalMs: 60_000 }).start();
    await world.advance(700);
  }
  for (let passed = 0; passed < 3 * TTL; passed += 10) {
    const before = renewals.mock.callCount();
    await world.advance(10);
    for (const { arguments: asked } of renewals.mock.calls.slice(before)) {
      const { name } = asked[0].duty;
      times.set(name, [...(times.get(name) ?? []), world.clock.monotonic()]);
    }
  }
  const [one, two, three] = ['one', 'two', 'three'].map((name) => times.get(name)?.slice(-8));
  assert.equal(one?.length, 8);
  assert.deepEqual(two, one);
  assert.deepEqual(three, one);
  for (const [i, at] of (one as number[]).entries()) {
    if (i > 0) assert.ok(at - (one?.[i - 1] as number) <= TTL / 3, `renewed after ${at - (one?.[i - 1] as number)} ms`);
  }
});

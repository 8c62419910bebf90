import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault, isEngineError } from '../../core/errors.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import type { Log } from '../log.ts';
import { Election } from './election.ts';

const LEASE = 30_000;
const RENEW = 10_000;
const MARGIN = 1000;

type Verbs = Pick<Store, 'dutyTake' | 'dutyRenew' | 'dutyRelease' | 'dutyList'>;

class Candidate {
  readonly election: Election;
  readonly events: string[] = [];
  readonly roster: string[] = [];
  /** Replaces the store's own answers. */
  verbs: Partial<Verbs> = {};
  /** Delays the stop of the roster. */
  rosterEnds: Promise<void> = Promise.resolve();

  constructor(store: Store, world: VirtualWorld, log: Log, holder: string, times: object = {}) {
    const verb = <K extends keyof Verbs>(name: K): Verbs[K] =>
      ((params: never) =>
        ((this.verbs[name] ?? store[name].bind(store)) as (params: never) => unknown)(params)) as never;
    this.election = new Election({
      store: {
        dutyTake: verb('dutyTake'),
        dutyRenew: verb('dutyRenew'),
        dutyRelease: verb('dutyRelease'),
        dutyList: verb('dutyList'),
      },
      world,
      log,
      holder,
      leaseMs: LEASE,
      renewMs: RENEW,
      roster: {
        start: () => void this.roster.push('starts'),
        stop: async () => {
          await this.rosterEnds;
          this.roster.push('stops');
        },
      },
      onEvent: (event) => void (event === 'retry' || event === 'refused' || this.events.push(event)),
      ...times,
    });
  }
}

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly logged: string[];
  readonly candidate: (holder: string) => Candidate;
  readonly leader: () => Promise<{ readonly holder: string; readonly epoch: number; readonly leftMs: number }>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const logged: string[] = [];
  const note = (line: string): void => void logged.push(line);
  const log: Log = { info: note, warn: note, error: note };
  const candidates: Candidate[] = [];
  t.after(async () => {
    for (const one of candidates) {
      one.verbs = {};
      await one.election.resign();
    }
    await store.close();
  });
  return {
    world,
    store,
    logged,
    candidate: (holder) => {
      const one = new Candidate(store, world, log, holder);
      candidates.push(one);
      return one;
    },
    leader: async () => {
      const { now, duties } = await store.dutyList();
      const { holder = '', epoch = 0, until = 0 } = duties.find(({ name }) => name === 'leader') ?? {};
      return { holder, epoch, leftMs: until === 0 ? 0 : until - now };
    },
  };
}

const unreachable = (): Promise<never> => Promise.reject(fault('STORE_UNAVAILABLE'));

test('the first candidate leads and runs the roster, the second follows', async (t) => {
  const { candidate, leader, world } = await rig(t);
  const [a, b] = [candidate('a/1'), candidate('b/1')];
  assert.equal(await a.election.stand(), true);
  assert.equal(await b.election.stand(), false);
  await world.settle();
  assert.deepEqual([a.election.leads, b.election.leads], [true, false]);
  assert.deepEqual([a.roster, b.roster], [['starts'], []]);
  assert.deepEqual([a.election.epoch, b.election.epoch], [1, undefined]);
  assert.deepEqual(await leader(), { holder: 'a/1', epoch: 1, leftMs: LEASE });
});

test('a leader renews its term in time and leads for as long as it does', async (t) => {
  const { candidate, leader, world } = await rig(t);
  const [a, b] = [candidate('a/1'), candidate('b/1')];
  await a.election.stand();
  await b.election.stand();
  await world.advance(10 * LEASE + 5000);
  assert.deepEqual([a.election.leads, b.election.leads], [true, false]);
  assert.deepEqual(await leader(), { holder: 'a/1', epoch: 1, leftMs: LEASE - 5000 });
  assert.deepEqual(a.roster, ['starts']);
});

test('a leader that resigns gives the duties back first, and is followed within little more than a second', async (t) => {
  const { candidate, leader, world } = await rig(t);
  const [a, b] = [candidate('a/1'), candidate('b/1')];
  await a.election.stand();
  await b.election.stand();
  const gate = Promise.withResolvers<void>();
  a.rosterEnds = gate.promise;
  const resigned = a.election.resign();
  await world.settle();
  assert.equal(a.election.leads, false);
  assert.ok((await leader()).leftMs > 0, 'leadership went before the duties did');
  gate.resolve();
  await resigned;
  assert.deepEqual(a.roster, ['starts', 'stops']);
  assert.equal((await leader()).leftMs, 0);
  await world.advance(1101);
  assert.equal(b.election.leads, true);
  assert.equal((await leader()).epoch, 2);
});

test('a roster that does not stop does not delay the next leader', async (t) => {
  const { candidate, world } = await rig(t);
  const [a, b] = [candidate('a/1'), candidate('b/1')];
  await a.election.stand();
  await b.election.stand();
  const gate = Promise.withResolvers<void>();
  a.rosterEnds = gate.promise;
  void a.election.resign();
  await world.advance(2200);
  const { leads } = b.election;
  gate.resolve();
  assert.equal(leads, true);
});

test('a leader that vanished is followed when its term is over, and not before', async (t) => {
  const { candidate, leader, store, world } = await rig(t);
  await store.dutyTake({ name: 'leader', holder: 'gone/1', ttlMs: LEASE });
  const b = candidate('b/1');
  await b.election.stand();
  await world.advance(LEASE);
  assert.equal(b.election.leads, false);
  await world.advance(101);
  assert.equal(b.election.leads, true);
  assert.deepEqual((await leader()).epoch, 2);
});

test('of many candidates that wait for the end of a term one leads', async (t) => {
  const { candidate, store, world } = await rig(t);
  await store.dutyTake({ name: 'leader', holder: 'gone/1', ttlMs: LEASE });
  const all = Array.from({ length: 7 }, (_, i) => candidate(`n${i}/1`));
  for (const one of all) await one.election.stand();
  await world.advance(LEASE + 1101);
  assert.equal(all.filter(({ election }) => election.leads).length, 1);
  assert.equal(all.filter(({ roster }) => roster.length > 0).length, 1);
});

test('leadership ends by the local clock alone, a margin before the store lets another process in', async (t) => {
  const { candidate, leader, world } = await rig(t);
  const a = candidate('a/1');
  await a.election.stand();
  a.verbs = { dutyRenew: unreachable, dutyList: unreachable };
  await world.advance(LEASE - MARGIN - 1);
  assert.equal(a.election.leads, true);
  await world.advance(1);
  assert.equal(a.election.leads, false);
  assert.equal((await leader()).leftMs, MARGIN, 'the store would not let another one in yet');
  assert.deepEqual(a.events, ['won', 'lost']);
  await world.settle();
  assert.deepEqual(a.roster, ['starts', 'stops']);
});

test('a process that was stopped does not believe that it leads when it continues, before any timer or answer', async (t) => {
  const { candidate, world } = await rig(t);
  const a = candidate('a/1');
  await a.election.stand();
  world.elapse(LEASE - MARGIN - 1);
  assert.equal(a.election.leads, true);
  world.elapse(1);
  assert.equal(a.election.leads, false);
});

test('a renewal counts from before it was sent, however late its answer comes', async (t) => {
  const { candidate, store, world } = await rig(t);
  const a = candidate('a/1');
  await a.election.stand();
  let answer = (): void => {};
  a.verbs = {
    dutyRenew: async (params) => {
      const held = await store.dutyRenew(params);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return held;
    },
  };
  await world.advance(RENEW);
  await world.advance(15_000);
  a.verbs = { dutyRenew: unreachable };
  answer();
  await world.settle();
  // Sent at 10 s: good until a margin before 40 s.
  await world.advance(RENEW + LEASE - MARGIN - (RENEW + 15_000) - 1);
  assert.equal(a.election.leads, true);
  await world.advance(1);
  assert.equal(a.election.leads, false);
});

test('an answer that comes too late does not bring leadership back', async (t) => {
  const { candidate, store, world } = await rig(t);
  const a = candidate('a/1');
  await a.election.stand();
  let answer = (): void => {};
  a.verbs = {
    dutyRenew: async (params) => {
      const held = await store.dutyRenew(params);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return held;
    },
  };
  await world.advance(LEASE - MARGIN);
  assert.equal(a.election.leads, false);
  answer();
  await world.settle();
  assert.equal(a.election.leads, false);
  assert.deepEqual(a.roster, ['starts', 'stops']);
});

test('an outage shorter than the term costs nothing', async (t) => {
  const { candidate, logged, world } = await rig(t);
  const a = candidate('a/1');
  await a.election.stand();
  a.verbs = { dutyRenew: unreachable };
  await world.advance(25_000);
  a.verbs = {};
  await world.advance(3 * LEASE);
  assert.equal(a.election.leads, true);
  assert.deepEqual(a.roster, ['starts']);
  assert.equal(
    logged.filter((line) => line.includes('the leader could not be read')).length,
    1,
    'said once, not each time',
  );
});

test('a deposed leader leads no more from the answer on, and follows the other', async (t) => {
  const { candidate, store, world } = await rig(t);
  const a = candidate('a/1');
  await a.election.stand();
  await store.dutyRelease({ duty: { name: 'leader', epoch: 1 } });
  await store.dutyTake({ name: 'leader', holder: 'b/1', ttlMs: LEASE });
  await world.advance(RENEW);
  assert.equal(a.election.leads, false);
  assert.deepEqual(a.events, ['won', 'lost']);
  await world.advance(LEASE + 1200);
  assert.deepEqual([a.election.leads, a.election.epoch], [true, 3]);
  assert.deepEqual(a.roster, ['starts', 'stops', 'starts']);
});

test('an outage longer than the term ends with a leader, under a new epoch', async (t) => {
  const { candidate, leader, world } = await rig(t);
  const [a, b] = [candidate('a/1'), candidate('b/1')];
  await a.election.stand();
  await b.election.stand();
  const away = { dutyTake: unreachable, dutyRenew: unreachable, dutyRelease: unreachable, dutyList: unreachable };
  a.verbs = away;
  b.verbs = away;
  await world.advance(2 * LEASE);
  assert.deepEqual([a.election.leads, b.election.leads], [false, false]);
  a.verbs = {};
  b.verbs = {};
  await world.advance(5000);
  assert.deepEqual(
    [a, b].map(({ election }) => election.epoch).filter((epoch) => epoch !== undefined),
    [2],
  );
  assert.equal((await leader()).epoch, 2);
});

test('a term whose answer came too late is given back', async (t) => {
  const { candidate, leader, store, world } = await rig(t);
  const a = candidate('a/1');
  let answer = (): void => {};
  a.verbs = {
    dutyTake: async (params) => {
      const term = await store.dutyTake(params);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return term;
    },
  };
  const standing = a.election.stand();
  await world.advance(LEASE - MARGIN);
  a.verbs = {};
  answer();
  assert.equal(await standing, false);
  assert.equal((await leader()).leftMs, 0);
  assert.deepEqual(a.roster, []);
});

test('a candidate that resigns during the election does not lead', async (t) => {
  const { candidate, leader, store, world } = await rig(t);
  const a = candidate('a/1');
  let answer = (): void => {};
  a.verbs = {
    dutyTake: async (params) => {
      const term = await store.dutyTake(params);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return term;
    },
  };
  const standing = a.election.stand();
  await world.settle();
  const resigned = a.election.resign();
  answer();
  assert.equal(await standing, false);
  await resigned;
  assert.equal((await leader()).leftMs, 0);
  assert.deepEqual(world.waits, []);
});

test('a term shorter than three renewals is refused', () => {
  const world = new VirtualWorld();
  const make = (leaseMs: number, renewMs: number): Candidate =>
    new Candidate({} as Store, world, { info() {}, warn() {}, error() {} }, 'a/1', { leaseMs, renewMs });
  for (const [leaseMs, renewMs] of [
    [10_000, 10_000],
    [29_999, 10_000],
    [30_000, 0],
  ] as const) {
    assert.throws(
      () => make(leaseMs, renewMs),
      (error) => isEngineError(error, 'INVALID_INPUT'),
    );
  }
  make(30_000, 10_000);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault, isEngineError } from '../../core/errors.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { DutyTerm, NumberAnswer, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import { DUTIES, Roster } from './roster.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly roster: Roster;
  /** When the store was asked to number events, counted from the beginning. */
  readonly asked: number[];
  readonly epochs: number[];
  /** The next answers of the store; with none left there is nothing to number. */
  readonly answers: (NumberAnswer | Error)[];
}

/** A store that does not number events itself, like Postgres; below it is SQLite, which does. */
async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const asked: number[] = [];
  const epochs: number[] = [];
  const answers: (NumberAnswer | Error)[] = [];
  const start = world.clock.monotonic();
  Object.defineProperty(store, 'capabilities', { value: { ...store.capabilities, numbersEvents: false } });
  store.eventNumber = ({ duty, limit }: { duty: DutyTerm; limit: number }) => {
    assert.equal(duty.name, 'feed');
    assert.equal(limit, 500);
    asked.push(world.clock.monotonic() - start);
    epochs.push(duty.epoch);
    const answer = answers.shift() ?? { events: 0, more: false };
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  return { world, store, engine, roster, asked, epochs, answers };
}

test('the duty exists only where the store does not number its events itself', async (t) => {
  const world = new VirtualWorld();
  const own = await openSqlite({ file: 'memory:', world });
  t.after(() => own.close());
  const none = new Roster({ engine: new Engine({ store: own, world }), holder: 'a' });
  assert.throws(
    () => none.keeper('feed'),
    (error) => isEngineError(error, 'NOT_FOUND'),
  );
  none.start();
  await world.advance(1000);
  assert.equal(none.held().includes('feed'), false);
  await none.stop();

  const { roster, world: other } = await rig(t);
  roster.start();
  await other.advance(10);
  assert.deepEqual(roster.held(), [...DUTIES]);
});

test('it runs twice a second while there is nothing to number, and ten times while there is', async (t) => {
  const { world, roster, asked, answers } = await rig(t);
  roster.keeper('feed').start();
  await world.advance(1600);
  assert.deepEqual(asked, [0, 500, 1000, 1500]);
  answers.push({ events: 3, more: false }, { events: 1, more: false });
  await world.advance(1000);
  assert.deepEqual(asked.slice(4), [2000, 2100, 2200]);
  assert.equal(roster.keeper('feed').done, 4);
});

test('while there is more it runs again at once', async (t) => {
  const { world, roster, asked, answers } = await rig(t);
  answers.push({ events: 500, more: true }, { events: 900, more: true }, { events: 7, more: false });
  roster.keeper('feed').start();
  await world.advance(90);
  assert.deepEqual(asked, [0, 0, 0]);
  assert.equal(roster.keeper('feed').done, 1407);
});

test('commits of this process are numbered a moment later, many commits in one pass', async (t) => {
  const { world, roster, engine, asked } = await rig(t);
  roster.keeper('feed').start();
  await world.advance(100);
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  for (let i = 0; i < 10; i++) {
    await engine.push({ queue: 'mail', handler: 'send' });
    await world.advance(1);
  }
  await world.advance(30);
  assert.deepEqual(asked.length, 2, `asked at ${asked.join()}`);
  assert.ok((asked[1] as number) <= 125, `asked at ${asked.join()}`);
  const [lease] = await engine.claim({ worker, max: 1 });
  assert.ok(lease);
  await world.advance(60);
  const before = asked.length;
  await engine.complete(lease);
  await world.advance(25);
  assert.equal(asked.length, before + 1, `a result is told at once too: asked at ${asked.join()}`);
});

test('followers of the feed get events at once when they have their numbers', async (t) => {
  const { world, store, roster, engine, answers } = await rig(t);
  let numbered = false;
  const eventRead = store.eventRead.bind(store);
  store.eventRead = (params) =>
    numbered ? eventRead(params) : Promise.resolve({ events: [], reset: false, last: params.after });
  roster.keeper('feed').start();
  await world.advance(10);
  const heard: number[] = [];
  const follower = new AbortController();
  const following = (async () => {
    for await (const item of engine.events({ after: 0, signal: follower.signal })) {
      if (item.kind === 'event') heard.push(item.event.seq);
    }
  })();
  await world.settle();
  await engine.push({ queue: 'mail', handler: 'send' });
  await world.advance(5);
  assert.deepEqual(heard, []);
  numbered = true;
  answers.push({ events: 1, more: false });
  await world.advance(30);
  assert.deepEqual(heard, [1], 'it waited for its own poll');
  follower.abort();
  await following;
});

test('of two processes one numbers; when it stops the other does, with the next epoch', async (t) => {
  const { world, store, roster, asked, epochs } = await rig(t);
  roster.keeper('feed').start();
  await world.advance(10);
  const second = new Roster({ engine: new Engine({ store, world }), holder: 'b' });
  t.after(() => second.stop());
  second.keeper('feed').start();
  await world.advance(5000);
  assert.deepEqual(new Set(epochs), new Set([1]));
  assert.equal(second.keeper('feed').holding, false);
  await roster.stop();
  await world.advance(2001);
  assert.equal(second.keeper('feed').holding, true);
  const count = asked.length;
  await world.advance(2000);
  assert.ok(asked.length > count);
  assert.equal(epochs.at(-1), 2);
});

test('a deposed sequencer stops at once and tries for the duty again', async (t) => {
  const { world, roster, answers, asked, epochs } = await rig(t);
  roster.keeper('feed').start();
  await world.advance(100);
  answers.push(fault('DUTY_LOST', { duty: 'feed', epoch: 1 }));
  await world.advance(500);
  assert.equal(roster.keeper('feed').holding, false);
  const count = asked.length;
  await world.advance(3000);
  assert.equal(asked.length, count, 'it goes on without the duty');
  await world.advance(6000);
  assert.equal(roster.keeper('feed').holding, true);
  assert.equal(epochs.at(-1), 2);
});

test('a fault of the store is retried at the next interval, and numbers nothing twice', async (t) => {
  const { world, roster, answers, asked } = await rig(t);
  roster.keeper('feed').start();
  await world.advance(100);
  answers.push(fault('STORE_UNAVAILABLE', { problem: 'no route' }), { events: 5, more: false });
  await world.advance(1100);
  assert.deepEqual(asked, [0, 500, 1000, 1100]);
  assert.equal(roster.keeper('feed').done, 5);
  assert.equal(roster.keeper('feed').holding, true);
});

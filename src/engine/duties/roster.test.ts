import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import { DUTIES, Roster } from './roster.ts';

/** SQLite numbers its events as it writes them. */
const EVERY = DUTIES.filter((name) => name !== 'feed');

test('one process takes all duties, gives them back when it stops, and the next one takes them', async () => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const [one, two] = ['a', 'b'].map((holder) => new Roster({ engine: new Engine({ store, world }), holder }));
  assert.ok(one && two);
  assert.deepEqual(one.held(), []);
  one.start();
  await world.advance(10);
  two.start();
  await world.advance(5000);
  assert.deepEqual(one.held(), EVERY);
  assert.deepEqual(two.held(), []);
  await one.stop();
  assert.deepEqual(one.held(), []);
  await world.advance(2000);
  assert.deepEqual(two.held(), EVERY);
  await two.stop();
  assert.deepEqual(world.waits, []);
  await store.close();
});

test('duties that crashed with their process are taken over when their term has expired', async () => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  for (const name of DUTIES) await store.dutyTake({ name, holder: 'crashed', ttlMs: 6000 });
  const roster = new Roster({ engine: new Engine({ store, world }), holder: 'b' });
  roster.start();
  await world.advance(6000);
  assert.deepEqual(roster.held(), []);
  await world.advance(2001);
  assert.deepEqual(roster.held(), EVERY);
  await roster.stop();
  await store.close();
});

test('a young process takes its duties one after the other', async () => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const roster = new Roster({ engine: new Engine({ store, world }), holder: 'a' });
  roster.start(60);
  await world.advance(59);
  assert.deepEqual(roster.held(), EVERY.slice(0, 1));
  for (const [at] of EVERY.entries()) {
    assert.deepEqual(roster.held(), EVERY.slice(0, at + 1));
    await world.advance(60);
  }
  assert.deepEqual(roster.held(), EVERY);
  await roster.stop();
  await store.close();
});

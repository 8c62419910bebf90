import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import type { Store } from '../../store.ts';
import { openSqlite } from '../open.ts';

const folder = tempFolder('watch');
let files = 0;

interface Rig {
  readonly world: VirtualWorld;
  readonly own: Store;
  readonly other: Store;
  readonly stop: () => void;
  /** How often the callback was called. */
  readonly calls: () => number;
  wanted: boolean;
}

async function rig(t: TestContext): Promise<Rig> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const own = await openSqlite({ file, world, housekeeping: false });
  // Another process has timers of its own.
  const other = await openSqlite({ file, world: new VirtualWorld(), housekeeping: false });
  t.after(() => Promise.all([own.close(), other.close()]));
  let calls = 0;
  const it: Rig = { world, own, other, wanted: true, calls: () => calls, stop: () => stop() };
  const stop = own.watch({ wanted: () => it.wanted, onChange: () => void calls++ });
  return it;
}

/** Writes something new: SQLite writes no page for an update that changes nothing. */
const commit = (store: Store): Promise<void> => store.queuePause({ queue: `q${files++}`, paused: true });

test('a commit of another connection is told within a poll', async (t) => {
  const { other, world, calls } = await rig(t);
  await world.advance(500);
  assert.equal(calls(), 0);
  await commit(other);
  await world.advance(60);
  assert.equal(calls(), 1);
});

test('the operating system tells of a commit long before the poll would', async (t) => {
  const { other, world, calls } = await rig(t);
  await world.settle();
  assert.deepEqual(world.waits, [50]);
  await commit(other);
  // The notice comes from another process: real time, but no sleep.
  const deadline = performance.now() + 5000;
  while (calls() === 0 && performance.now() < deadline) await turn();
  assert.equal(calls(), 1, 'no notice came');
});

test('without a bell the log tells of a commit', async (t) => {
  // A folder has the name of the bell.
  mkdirSync(join(folder, `${files}.db-bell`));
  const { other, calls } = await rig(t);
  await commit(other);
  const deadline = performance.now() + 5000;
  while (calls() === 0 && performance.now() < deadline) await turn();
  assert.equal(calls(), 1, 'no notice came');
});

test('a busy process is rung once in vain, and takes its place again when it waits', async (t) => {
  const file = join(folder, `${files}.db-bell`);
  const it = await rig(t);
  const until = (): number => readFileSync(file).readDoubleLE(24);
  assert.ok(until() > 0, 'it has no place');
  it.wanted = false;
  await commit(it.other);
  const deadline = performance.now() + 5000;
  while (until() > 0 && performance.now() < deadline) await turn();
  assert.equal(until(), 0, 'it kept its place');
  it.wanted = true;
  await it.world.advance(60);
  assert.equal(it.calls(), 1);
  assert.ok(until() > 0, 'it has no place');
});

test('commits of this process are not told, however many', async (t) => {
  const { own, world, calls } = await rig(t);
  for (let n = 0; n < 5; n++) {
    await commit(own);
    await world.advance(70);
  }
  assert.equal(calls(), 0);
});

test('many commits between two looks are told once, and later ones again', async (t) => {
  const { other, world, calls } = await rig(t);
  for (let n = 0; n < 5; n++) await commit(other);
  await world.advance(60);
  assert.equal(calls(), 1);
  await world.advance(500);
  assert.equal(calls(), 1);
  await commit(other);
  await world.advance(60);
  assert.equal(calls(), 2);
});

test('while nobody wants to know it does not tell, and what was missed is told when somebody does', async (t) => {
  const it = await rig(t);
  it.wanted = false;
  await commit(it.other);
  await it.world.advance(300);
  assert.equal(it.calls(), 0);
  it.wanted = true;
  await it.world.advance(60);
  assert.equal(it.calls(), 1);
});

test('after the end nothing is told and no timer is left', async (t) => {
  const { other, world, calls, stop } = await rig(t);
  stop();
  assert.deepEqual(world.waits, []);
  await commit(other);
  await world.advance(300);
  for (let n = 0; n < 20; n++) await turn();
  assert.equal(calls(), 0);
  assert.deepEqual(world.waits, []);
});

test('closing the store ends its watches', async (t) => {
  const { own, other, world, calls } = await rig(t);
  await own.close();
  await commit(other);
  await world.advance(300);
  assert.equal(calls(), 0);
  assert.deepEqual(world.waits, []);
});

test('a watcher that ends the watch from within is told no more', async (t) => {
  const { own, other, world } = await rig(t);
  let calls = 0;
  const stop = own.watch({
    wanted: () => true,
    onChange: () => {
      calls++;
      stop();
    },
  });
  for (let n = 0; n < 3; n++) {
    await commit(other);
    await world.advance(60);
  }
  assert.equal(calls, 1);
});

test('a store in memory has nobody to hear from', async () => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const stop = store.watch({ wanted: () => true, onChange: () => assert.fail('it told') });
  await commit(store);
  await world.advance(200);
  stop();
  await store.close();
});

test('dependents that another process has left for the stager are told with its commit', async (t) => {
  const { own, other, world } = await rig(t);
  let carried = 0;
  t.after(own.watch({ wanted: () => true, onChange: () => {}, onCarried: () => void carried++ }));
  await commit(other);
  await world.advance(60);
  assert.equal(carried, 0, 'nothing was left');
  await leaveDependents(other);
  await world.advance(60);
  assert.ok(carried > 0, 'it was not told');
});

/** Ends a task that has one dependent more than a transaction handles. */
async function leaveDependents(store: Store): Promise<void> {
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const item = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 3, payload: '1' };
  const after = [{ item: 0, optional: false }];
  const dependents = Array.from({ length: 501 }, () => ({ ...item, after, afterFailure: 'cancel' as const }));
  const answer = await store.graphPush({ items: [{ ...item, after: [], afterFailure: 'cancel' }, ...dependents] });
  assert.ok(answer.ok);
  await store.taskCancel({ tasks: [answer.tasks[0]?.task as number] });
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault, isEngineError } from '../../core/errors.ts';
import type { NodeRole } from '../../core/node.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { NodeRecord, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Membership } from './membership.ts';

const LEASE = 30_000;

interface Member {
  readonly membership: Membership;
  readonly changes: string[];
  readonly roster: string[];
}

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly logged: string[];
  readonly member: (id: string, role?: NodeRole, more?: { incarnation?: string; gone?: readonly string[] }) => Member;
  readonly row: (id: string) => Promise<NodeRecord | undefined>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const logged: string[] = [];
  const note = (message: string, fields: object = {}): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const members: Membership[] = [];
  t.after(async () => {
    for (const one of members) await one.leave();
    await store.close();
  });
  return {
    world,
    store,
    logged,
    member: (id, role = 'auto', { incarnation = '1', gone = [] } = {}) => {
      const roster: string[] = [];
      const membership = new Membership({
        store,
        world,
        log: { info: note, warn: note, error: note },
        self: { id, incarnation, address: `http://${id}`, host: `host of ${id}`, pid: 7 },
        role,
        leaseMs: LEASE,
        renewMs: LEASE / 3,
        beatMs: 10_000,
        roster: { start: () => void roster.push('starts'), stop: async () => void roster.push('stops') },
        isGone: (node) => gone.includes(node.id),
      });
      members.push(membership);
      const changes: string[] = [];
      membership.onChange((doing) => changes.push(doing));
      return { membership, changes, roster };
    },
    row: async (id) => (await store.nodeList()).nodes.find((node) => node.id === id),
  };
}

const roleOf = (world: VirtualWorld, store: Store, id: string, role: 'auto' | 'worker' | 'observer'): Promise<void> =>
  store.nodeRole({ id, role }).then(() => world.advance(1500));

test('auto leads if no node does, otherwise it works and leads when the leader is gone', async (t) => {
  const { member, row, world } = await rig(t);
  const [a, b] = [member('a'), member('b')];
  await a.membership.start();
  await b.membership.start();
  assert.deepEqual([a.membership.doing, b.membership.doing], ['leader', 'worker']);
  assert.deepEqual([(await row('a'))?.stand, (await row('b'))?.stand], ['leader', 'worker']);
  await a.membership.leave();
  assert.equal(await row('a'), undefined);
  await world.advance(2500);
  assert.equal(b.membership.doing, 'leader');
  assert.equal((await row('b'))?.stand, 'leader');
  assert.deepEqual([a.roster, b.roster], [['starts', 'stops'], ['starts']]);
});

test('leader does not start where another node leads, names it, and leaves nothing behind', async (t) => {
  const { member, row, store } = await rig(t);
  await member('a').membership.start();
  const b = member('b', 'leader');
  await assert.rejects(b.membership.start(), (error) => {
    assert.ok(isEngineError(error, 'CONFLICT'));
    assert.match(error.message, /a at http:\/\/a leads this cluster already/);
    assert.match(error.hint ?? '', /--role auto/);
    return true;
  });
  assert.equal(await row('b'), undefined);
  assert.deepEqual(b.roster, []);
  const { duties } = await store.dutyList();
  assert.deepEqual(
    duties.map(({ name, holder }) => [name, holder]),
    [['leader', 'a/1']],
  );
});

test('leader leads where no node does', async (t) => {
  const { member } = await rig(t);
  const a = member('a', 'leader');
  await a.membership.start();
  assert.equal(a.membership.doing, 'leader');
});

test('a worker never tries to lead, and neither does an observer', async (t) => {
  const { member, row, store, world } = await rig(t);
  const takes = t.mock.method(store, 'dutyTake');
  const [a, b] = [member('a', 'worker'), member('b', 'observer')];
  await a.membership.start();
  await b.membership.start();
  await world.advance(10 * LEASE);
  assert.equal(takes.mock.callCount(), 0);
  assert.deepEqual([a.membership.doing, b.membership.doing], ['worker', 'observer']);
  assert.deepEqual([(await row('a'))?.stand, (await row('b'))?.stand], ['worker', 'observer']);
});

test('a leader whose renewal fails works on, and is elected again', async (t) => {
  const { member, store, world } = await rig(t);
  const a = member('a');
  await a.membership.start();
  await store.dutyRelease({ duty: { name: 'leader', epoch: 1 } });
  await store.dutyTake({ name: 'leader', holder: 'b/1', ttlMs: LEASE });
  await world.advance(LEASE / 3 + 1);
  assert.deepEqual(a.changes, ['leader', 'worker']);
  await world.advance(LEASE + 1200);
  assert.deepEqual(a.changes, ['leader', 'worker', 'leader']);
  assert.deepEqual(a.roster, ['starts', 'stops', 'starts']);
});

test('a leader that is asked to observe gives leadership back within two seconds, and may lead again later', async (t) => {
  const { member, row, store, world } = await rig(t);
  const [a, b] = [member('a'), member('b')];
  await a.membership.start();
  await b.membership.start();
  await roleOf(world, store, 'a', 'observer');
  assert.equal(a.membership.doing, 'observer');
  await world.advance(1000);
  assert.equal(b.membership.doing, 'leader');
  assert.deepEqual([(await row('a'))?.stand, (await row('a'))?.override], ['observer', 'observer']);
  await roleOf(world, store, 'a', 'auto');
  assert.equal(a.membership.doing, 'worker');
  await b.membership.leave();
  await world.advance(1500);
  assert.deepEqual(a.changes, ['leader', 'observer', 'worker', 'leader']);
});

test('the role that a node is asked to have overrides the one that it was started with, until auto', async (t) => {
  const { member, store, world } = await rig(t);
  const a = member('a', 'observer');
  await a.membership.start();
  await roleOf(world, store, 'a', 'worker');
  assert.equal(a.membership.doing, 'worker');
  await roleOf(world, store, 'a', 'auto');
  assert.equal(a.membership.doing, 'observer');
});

test('the role that a node is asked to have holds after a restart', async (t) => {
  const { member, store, world } = await rig(t);
  const first = member('a');
  await first.membership.start();
  await roleOf(world, store, 'a', 'observer');
  await first.membership.leave();
  const second = member('a', 'auto', { incarnation: '2' });
  await second.membership.start();
  assert.equal(second.membership.doing, 'observer');
});

test('a newer process with the same id takes its place: the older one logs it and leads no more', async (t) => {
  const { logged, member, row, store, world } = await rig(t);
  const older = member('a');
  await older.membership.start();
  const newer = member('a', 'auto', { incarnation: '2' });
  await newer.membership.start();
  assert.equal(newer.membership.doing, 'leader', 'it need not wait for a term of its own');
  await world.advance(11_000);
  assert.equal(older.membership.doing, 'worker');
  assert.match(logged.find((line) => line.includes('the same node id')) ?? '', /"host":"host of a","pid":7/);
  await world.advance(10 * LEASE);
  assert.equal(newer.membership.doing, 'leader');
  assert.equal((await row('a'))?.incarnation, '2');
  // Leadership was handed over once, and never went back and forth.
  assert.equal((await store.dutyList()).duties.find(({ name }) => name === 'leader')?.epoch, 2);
  await newer.membership.leave();
  await world.advance(11_000);
  assert.equal((await row('a'))?.incarnation, '1');
  assert.equal(older.membership.doing, 'leader', 'it is the only one of that id again');
});

test('a leader that has died on this host is not waited for', async (t) => {
  const { member, store } = await rig(t);
  await store.nodeBeat({ id: 'x', incarnation: '1', first: true, wish: 'auto', stand: 'leader' });
  await store.dutyTake({ name: 'leader', holder: 'x/1', ttlMs: LEASE });
  const [other, here] = [member('b'), member('c', 'auto', { gone: ['x'] })];
  await other.membership.start();
  assert.equal(other.membership.doing, 'worker', 'who does not know that it died waits');
  await here.membership.start();
  assert.equal(here.membership.doing, 'leader');
});

test('a node beats, and its row comes back if somebody deleted it', async (t) => {
  const { member, row, store, world } = await rig(t);
  const a = member('a', 'worker');
  await a.membership.start();
  await world.advance(25_000);
  const { now } = await store.nodeList();
  assert.ok(now - ((await row('a'))?.beatAt ?? 0) <= 11_000);
  await store.nodeLeave({ id: 'a', incarnation: '1' });
  await world.advance(1001);
  assert.equal((await row('a'))?.incarnation, '1');
});

test('a node whose store is away warns once and goes on when it is back', async (t) => {
  const { logged, member, row, store, world } = await rig(t);
  const a = member('a', 'worker');
  await a.membership.start();
  const away = (): Promise<never> => Promise.reject(fault('STORE_UNAVAILABLE'));
  const list = t.mock.method(store, 'nodeList', away);
  const beat = t.mock.method(store, 'nodeBeat', away);
  await world.advance(60_000);
  assert.equal(logged.filter((line) => line.includes('could not send its heartbeat')).length, 1);
  list.mock.restore();
  beat.mock.restore();
  await world.advance(2000);
  const { now } = await store.nodeList();
  assert.ok(now - ((await row('a'))?.beatAt ?? 0) <= 2000);
});

test('a node that resigned keeps beating and stands for no election', async (t) => {
  const { member, row, store, world } = await rig(t);
  const a = member('a');
  await a.membership.start();
  await a.membership.resign();
  await world.advance(2 * LEASE);
  assert.equal((await row('a'))?.stand, 'worker');
  await roleOf(world, store, 'a', 'observer');
  await roleOf(world, store, 'a', 'auto');
  await world.advance(2 * LEASE);
  assert.equal(a.membership.doing, 'worker');
  assert.deepEqual(a.roster, ['starts', 'stops']);
});

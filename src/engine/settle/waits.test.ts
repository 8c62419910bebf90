import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Roster } from '../duties/roster.ts';
import { Engine } from '../engine.ts';
import type { TurnResult } from './turns.ts';
import type { WaitRequest } from './waits.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly claim: (waitMs?: number) => Promise<Grant | undefined>;
  readonly running: () => Promise<Grant>;
}

const park = (engine: Engine, lease: Grant, wait: WaitRequest): Promise<TurnResult> =>
  engine.turn(lease, { then: { go: 'park', ...wait } });

async function remember(engine: Engine, lease: Grant, key: string, value: unknown): Promise<string | undefined> {
  return (await engine.turn(lease, { entries: [{ key, value }] })).entries[0]?.text;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  store.watch({ wanted: () => engine.waiting, onChange: (lanes, slots) => engine.hint(lanes, slots) });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  const claim = async (waitMs = 0): Promise<Grant | undefined> => (await engine.claim({ worker, max: 1, waitMs }))[0];
  return {
    world,
    engine,
    roster,
    claim,
    running: async () => {
      await engine.push({ queue: 'q', handler: 'h' });
      const grant = await claim();
      assert.ok(grant);
      return grant;
    },
  };
}

test('a signal wakes a waiting task at once, with its body', async (t) => {
  const { engine, claim, running, world } = await rig(t);
  const grant = await running();
  assert.equal((await park(engine, grant, { key: 'w#0', channel: 'news' })).went, 'parked');
  const heard: (Grant | undefined)[] = [];
  void claim(60_000).then((again) => void heard.push(again));
  await world.settle();
  assert.equal(heard.length, 0);
  assert.deepEqual((await engine.waits.signal('news', { n: 1 })).woken, [grant.task]);
  await world.settle();
  const [woken] = heard;
  assert.deepEqual([woken?.task, woken?.attempt, woken?.tries], [grant.task, 2, 1]);
  assert.deepEqual((await engine.waits.of(grant.task))?.body, '{"n":1}');
});

test('a signal that came first is taken without giving the lease back', async (t) => {
  const { engine, running } = await rig(t);
  await engine.waits.signal('news', 'early');
  const grant = await running();
  const { went, body } = await park(engine, grant, { key: 'w#0', channel: 'news' });
  assert.deepEqual([went, body], ['woken', '"early"']);
  await engine.complete(grant);
});

test('a deadline wakes the task with an outcome of its own', async (t) => {
  const { engine, claim, running, world, roster } = await rig(t);
  const grant = await running();
  await park(engine, grant, { key: 'w#0', channel: 'news', timeout: '1m' });
  await world.advance(60_000);
  await roster.tick('stager');
  assert.equal((await claim())?.task, grant.task);
  assert.equal((await engine.waits.of(grant.task))?.outcome, 'timed_out');
});

test('children wake their parent when all have ended, or the first where one is enough', async (t) => {
  const { engine, claim, running } = await rig(t);
  for (const any of [false, true]) {
    const parent = await running();
    const children = await engine.pushMany([
      { queue: 'c', handler: 'h' },
      { queue: 'c', handler: 'h' },
    ]);
    const parked = await park(engine, parent, {
      key: 'w#0',
      children: children.map(({ task }) => task),
      ...(any ? { need: 1 } : {}),
    });
    assert.equal(parked.went, 'parked');
    const first = (await claim()) as Grant;
    await engine.complete(first, 1);
    assert.equal((await engine.get(parent.task))?.state, any ? 'ready' : 'waiting');
    const next = (await claim()) as Grant;
    await engine.complete(next, 2);
    const last = (await claim()) as Grant;
    assert.ok([next.task, last.task].includes(parent.task));
    await engine.complete(last);
  }
});

test('a parked task gives its room in a limit back, and takes it again when it continues', async (t) => {
  const { engine, claim } = await rig(t);
  await engine.limits.set('one', { concurrent: 1 });
  await engine.pushMany([
    { queue: 'q', handler: 'h', limits: ['one'] },
    { queue: 'q', handler: 'h', limits: ['one'] },
  ]);
  const first = (await claim()) as Grant;
  assert.equal(await claim(), undefined);
  await park(engine, first, { key: 'w#0', channel: 'news' });
  const second = (await claim()) as Grant;
  assert.ok(second.task !== first.task);
  await engine.waits.signal('news', null);
  assert.equal(await claim(), undefined, 'the limit is taken');
  await engine.complete(second);
  assert.equal((await claim())?.task, first.task);
});

test('a value is recorded once, under the fence', async (t) => {
  const { engine, claim, running } = await rig(t);
  const grant = await running();
  assert.equal(await remember(engine, grant, 'a#0', { x: 1 }), '{"x":1}');
  assert.equal(await remember(engine, grant, 'a#0', { x: 2 }), '{"x":1}', 'the first one stays');
  await engine.release(grant);
  assert.equal(await refusal(remember(engine, grant, 'b#0', 1)), 'LEASE_LOST');
  const again = (await claim()) as Grant;
  await remember(engine, again, 'b#0', 2);
  assert.deepEqual(
    (await engine.journal(grant.task)).map(({ key, value, attempt }) => [key, value, attempt]),
    [
      ['a#0', '{"x":1}', 1],
      ['b#0', '2', 2],
    ],
  );
});

test('a wait that nothing would ever end is refused, and so is one of a lost lease', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  assert.equal(await refusal(park(engine, grant, { key: 'w#0' })), 'INVALID_INPUT');
  await engine.release(grant);
  assert.equal(await refusal(park(engine, grant, { key: 'w#0', timeout: 1 })), 'LEASE_LOST');
});

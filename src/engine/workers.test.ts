import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../store/conformance/kit/scene.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import type { Store, WorkerBeat, WorkerRecord } from '../store/store.ts';
import { VirtualWorld } from '../testing.ts';
import type { Beat } from './check.ts';
import { Roster } from './duties/roster.ts';
import { Engine, type EngineOptions } from './engine.ts';

const DAY = 86_400_000;
const WORKER = { name: 'w', incarnation: 'i', slots: 8 };

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly worker: number;
  readonly record: () => Promise<WorkerRecord | undefined>;
  /** Calls of these verbs, in order. */
  readonly calls: { readonly verb: string; readonly beats: readonly WorkerBeat[] }[];
}

async function rig(t: TestContext, options: Partial<EngineOptions> = {}): Promise<Rig> {
  const world = new VirtualWorld();
  const real = await openSqlite({ file: 'memory:', world });
  const calls: Rig['calls'] = [];
  const store = new Proxy<Store>(real, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== 'function') return member;
      return (params: { beats?: readonly WorkerBeat[] }) => {
        if (name === 'workerBeat' || name === 'workerReap') calls.push({ verb: name, beats: params.beats ?? [] });
        return (member as (params: unknown) => unknown).call(target, params);
      };
    },
  });
  const engine = new Engine({ store, world, ...options });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await real.close();
  });
  const worker = await engine.workers.register(WORKER);
  const record = async (): Promise<WorkerRecord | undefined> => (await engine.workers.list())[0];
  return { world, engine, roster, worker, record, calls };
}

test('a worker registers with its host and what it can do', async (t) => {
  const { engine } = await rig(t);
  const said = { ...WORKER, incarnation: 'j', tags: ['gpu'], host: 'box', pid: 4, handlers: ['send', 'Mail:sort'] };
  const worker = await engine.workers.register(said);
  const record = (await engine.workers.list()).find((one) => one.worker === worker);
  assert.deepEqual({ ...record }, { ...record, ...said, state: 'starting' });
});

test('a bad registration is refused', async (t) => {
  const { engine } = await rig(t);
  for (const wrong of [{ host: '' }, { host: 5 }, { pid: -1 }, { handlers: 'send' }, { handlers: ['no name'] }]) {
    assert.equal(await refusal(engine.workers.register({ ...WORKER, ...(wrong as object) })), 'INVALID_INPUT');
  }
  assert.equal(await refusal(engine.workers.register({ ...WORKER, state: 'online' } as never)), 'UNKNOWN_OPTION');
});

test('a beat keeps a worker alive and carries its state, its status and its metadata', async (t) => {
  const { engine, worker, record } = await rig(t);
  assert.equal(await engine.workers.beat({ worker }), true);
  assert.equal((await record())?.state, 'online');
  await engine.workers.beat({ worker, state: 'draining', status: 'last one', metadata: { load: 0.5 } });
  const { state, status, metadata } = (await record()) as WorkerRecord;
  assert.deepEqual([state, status, metadata], ['draining', 'last one', '{"load":0.5}']);
  await engine.workers.beat({ worker, status: null, metadata: null });
  const after = await record();
  assert.deepEqual([after?.state, after?.status, after?.metadata], ['draining', undefined, undefined]);
});

test('beats of one turn leave together, and the beat of an unknown worker is answered with false', async (t) => {
  const { engine, worker, calls } = await rig(t);
  assert.deepEqual(await Promise.all([engine.workers.beat({ worker }), engine.workers.beat({ worker: 4711 })]), [
    true,
    false,
  ]);
  assert.deepEqual(
    calls.map(({ beats }) => beats.length),
    [2],
  );
});

const BAD: readonly unknown[] = [
  { worker: 0 },
  { worker: 1, state: 'lost' },
  { worker: 1, state: 'busy' },
  { worker: 1, status: '' },
  { worker: 1, status: 5 },
  { worker: 1, metadata: 5n },
];

test('a bad beat is refused before anything is written', async (t) => {
  const { engine, worker, calls } = await rig(t);
  for (const wrong of BAD)
    assert.equal(await refusal(engine.workers.beat(wrong as Beat)), 'INVALID_INPUT', String(wrong));
  assert.equal(await refusal(engine.workers.beat({ worker, metadata: 'x'.repeat(70_000) })), 'TOO_LARGE');
  assert.equal(await refusal(engine.workers.beat({ worker, name: 'x' } as never)), 'UNKNOWN_OPTION');
  assert.equal(calls.length, 0);
});

test('the reaper marks a silent worker as lost after half a minute, and a beat brings it back', async (t) => {
  const { world, engine, roster, worker, record } = await rig(t);
  roster.keeper('reaper').start();
  await engine.workers.beat({ worker });
  await world.advance(30_000);
  assert.equal((await record())?.state, 'online');
  await world.advance(6000);
  assert.equal((await record())?.state, 'lost');
  await engine.workers.beat({ worker });
  assert.equal((await record())?.state, 'online');
});

test('a worker that beats every half minute is never lost between two beats, whatever the reaper takes for silence', async (t) => {
  const { world, engine, roster } = await rig(t);
  const slow = { name: 'slow', incarnation: 'slow', slots: 1, beatMs: 30_000 };
  const worker = await engine.workers.register(slow);
  const exact = await engine.workers.register({ ...slow, name: 'exact', incarnation: 'exact', staleMs: 60_000 });
  const states = async (): Promise<readonly unknown[]> =>
    (await engine.workers.list()).filter(({ beatMs }) => beatMs !== undefined).map(({ state }) => state);
  roster.keeper('reaper').start();
  for (let i = 0; i < 5; i++) {
    for (const one of [worker, exact]) await engine.workers.beat({ worker: one });
    await world.advance(35_000);
    assert.deepEqual(await states(), ['online', 'online']);
  }
  await world.advance(25_000);
  assert.deepEqual(await states(), ['online', 'online']);
  await world.advance(6000);
  assert.deepEqual(await states(), ['lost', 'lost']);
});

test('how long a worker may be silent can be set, within bounds', async (t) => {
  const { world, engine, roster, worker, record } = await rig(t, { workerStaleMs: '3s' });
  await engine.workers.beat({ worker });
  await roster.tick('reaper');
  await world.advance(3001);
  await roster.tick('reaper');
  assert.equal((await record())?.state, 'lost');
  for (const wrong of [0, 9, '25h', 'long']) {
    assert.throws(() => new Engine({ store: engine.store, world, workerStaleMs: wrong }));
  }
});

test('the reaper looks for silent workers a few times within their silence, not at each pass', async (t) => {
  const { world, roster, calls } = await rig(t);
  for (let i = 0; i < 60; i++) {
    await roster.tick('reaper');
    await world.advance(500);
  }
  assert.equal(calls.filter(({ verb }) => verb === 'workerReap').length, 6);
});

test('a reaper for which an hour is no silence sees within seconds that a worker with short intervals is lost', async (t) => {
  const { world, engine, roster } = await rig(t, { workerStaleMs: '1h' });
  const quick = { name: 'quick', incarnation: 'quick', slots: 1, beatMs: 2000, staleMs: 4000 };
  const worker = await engine.workers.register(quick);
  roster.keeper('reaper').start();
  const states = async (): Promise<readonly unknown[]> =>
    (await engine.workers.list()).filter((one) => one.worker === worker).map(({ state }) => state);
  await engine.workers.beat({ worker });
  await world.advance(4000);
  assert.deepEqual(await states(), ['online']);
  await world.advance(6000);
  assert.deepEqual(await states(), ['lost']);
});

test('workers that are gone are forgotten after the retention', async (t) => {
  const { world, engine, roster, worker } = await rig(t, { retentionMs: '1d' });
  await engine.workers.beat({ worker, state: 'offline' });
  await world.advance(DAY);
  assert.equal(await roster.tick('pruner'), 0);
  await world.advance(1);
  assert.equal(await roster.tick('pruner'), 1);
  assert.deepEqual(await engine.workers.list(), []);
  assert.equal(await engine.workers.beat({ worker }), false);
});

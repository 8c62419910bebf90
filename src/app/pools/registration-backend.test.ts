import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Ground, onEachStore } from '../../../test/support/compat-grounds.ts';
import {
  createRegistrationBackend,
  createWorkBackend,
  type RegistrationBackend,
  type WorkerFilter,
  type WorkerRecord,
} from '../../compat/index.ts';
import { Roster } from '../../engine/duties/roster.ts';
import { Engine } from '../../engine/engine.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openStore } from '../store-url.ts';

const folder = tempFolder('registration-backend');
const onEach = (name: string, body: Parameters<typeof onEachStore>[2]): void => onEachStore(folder, name, body);

type Options = Parameters<typeof createRegistrationBackend>[1];

async function open(
  t: TestContext,
  { config, world }: Ground,
  options: Options = { duties: false },
): Promise<RegistrationBackend> {
  const backend = await createRegistrationBackend(config, { world, ...options });
  t.after(() => backend.close());
  return backend;
}

const ids = async (backend: RegistrationBackend, filter?: WorkerFilter): Promise<readonly string[]> =>
  (await backend.list(filter)).map(({ worker_id }) => worker_id);

onEach('a worker is known as it registered itself', async (t, ground) => {
  const backend = await open(t, ground);
  const worker = {
    worker_id: 'w1',
    host: 'box',
    pid: 12,
    capabilities: ['gpu', 'paper-analysis'],
    started_at: '2026-01-01T00:00:00+00:00',
  };
  const record = await backend.register(worker);
  const { last_heartbeat, ...rest } = record;
  assert.deepEqual(rest, { ...worker, status: 'active' });
  assert.ok(Math.abs(Date.parse(last_heartbeat) - ground.world.clock.wall()) < 10_000);
  const { last_heartbeat: later, ...same } = (await backend.get('w1')) as WorkerRecord;
  assert.deepEqual(same, rest);
  // Told from the lease clock, whose distance to the calendar is taken anew each time.
  assert.ok(Math.abs(Date.parse(later) - Date.parse(last_heartbeat)) < 1000);
  assert.equal(await backend.get('w2'), null);
});

onEach('A.3-6: an unknown worker has no heartbeat and no status', async (t, ground) => {
  const backend = await open(t, ground);
  assert.equal(await refusal(backend.heartbeat('w1')), 'NOT_FOUND');
  assert.equal(await refusal(backend.updateStatus('w1', 'active')), 'NOT_FOUND');
});

onEach('A.3-6, A14: to register again is an upsert that begins a new incarnation', async (t, ground) => {
  const [first, second] = [await open(t, ground), await open(t, ground)];
  await first.register({ worker_id: 'w1', pid: 1 });
  await second.register({ worker_id: 'w1', pid: 2, capabilities: ['gpu'] });
  assert.deepEqual(
    (await first.list()).map(({ pid }) => pid),
    [2],
  );
  // The first process ends; what it says concerns its own incarnation.
  await first.updateStatus('w1', 'terminated');
  assert.equal((await first.get('w1'))?.status, 'active');
  await second.updateStatus('w1', 'terminated');
  assert.equal((await first.get('w1'))?.status, 'terminated');
});

onEach('the words of FlatMachines and any other are kept as a status', async (t, ground) => {
  const [own, other] = [await open(t, ground), await open(t, ground)];
  await own.register({ worker_id: 'w1' });
  for (const word of ['terminating', 'busy: page 7', 'lost', 'terminated', 'active']) {
    await other.updateStatus('w1', word);
    assert.equal((await own.get('w1'))?.status, word);
  }
  await own.heartbeat('w1', { page: 7 });
  await own.heartbeat('w1');
  assert.deepEqual((await other.get('w1'))?.metadata, { page: 7 });
});

onEach('list filters by status, by capability and by silence on the clock of the store', async (t, ground) => {
  const backend = await open(t, ground);
  await backend.register({ worker_id: 'old', capabilities: ['gpu'] });
  await ground.elapse(61_000);
  // Somebody sets the calendar: no worker becomes stale by that.
  ground.jump(86_400_000);
  await backend.register({ worker_id: 'new', capabilities: ['gpu', 'big'] });
  await backend.register({ worker_id: 'leaving' });
  await backend.updateStatus('leaving', 'terminating');
  assert.deepEqual(await ids(backend), ['old', 'new', 'leaving']);
  assert.deepEqual(await ids(backend, { status: 'active' }), ['old', 'new']);
  assert.deepEqual(await ids(backend, { status: ['terminating', 'lost'] }), ['leaving']);
  assert.deepEqual(await ids(backend, { capability: 'gpu' }), ['old', 'new']);
  assert.deepEqual(await ids(backend, { capability: 'big', status: 'active' }), ['new']);
  assert.deepEqual(await ids(backend, { stale_threshold_seconds: 60 }), ['old']);
  assert.deepEqual(await ids(backend, { stale_threshold_seconds: 62 }), []);
  await backend.heartbeat('old');
  assert.deepEqual(await ids(backend, { stale_threshold_seconds: 60 }), []);
});

onEach('the pool of a worker is kept, shown and asked for', async (t, ground) => {
  const backend = await open(t, ground);
  await backend.register({ worker_id: 'w1', pool_id: 'papers', heartbeat_interval: 1.5 });
  await backend.register({ worker_id: 'w2', pool_id: 'mails' });
  await backend.register({ worker_id: 'w3' });
  const { pool_id, heartbeat_interval } = (await backend.get('w1')) as WorkerRecord;
  assert.deepEqual([pool_id, heartbeat_interval], ['papers', 1.5]);
  assert.deepEqual(await ids(backend, { pool_id: 'papers' }), ['w1']);
  assert.deepEqual(await ids(backend, { pool_id: 'mails', status: 'active' }), ['w2']);
  assert.deepEqual(await ids(backend, { pool_id: 'none' }), []);
  assert.deepEqual(
    (await ground.rows('SELECT worker_id, pool_id FROM worker_registry ORDER BY worker_id')).map((row) =>
      Object.values(row),
    ),
    [
      ['w1', 'papers'],
      ['w2', 'mails'],
      ['w3', null],
    ],
  );
});

onEach('a worker that tells its interval is not stale before two heartbeats have failed to come', async (t, ground) => {
  const backend = await open(t, ground);
  await backend.register({ worker_id: 'slow', heartbeat_interval: 60 });
  await backend.register({ worker_id: 'untold' });
  await ground.elapse(61_000);
  assert.deepEqual(await ids(backend, { stale_threshold_seconds: 60 }), ['untold']);
  await ground.elapse(60_000);
  assert.deepEqual(await ids(backend, { stale_threshold_seconds: 60 }), ['slow', 'untold']);
});

/** A process with a reaper of its own opinion of silence. It takes the reaper, looks, and gives it back. */
async function looker(
  t: TestContext,
  { path, kind, world }: Ground,
  workerStaleMs: string,
): Promise<() => Promise<void>> {
  const store = await openStore(kind === 'sqlite' ? `sqlite:${path}` : path, { world, housekeeping: false });
  t.after(() => store.close());
  // A server that has only just started is given the time of a lease, which does not pass here.
  const leaseOverdue = store.leaseOverdue.bind(store);
  store.leaseOverdue = async (params) => ({ ...(await leaseOverdue(params)), upForMs: undefined });
  return async () => {
    const roster = new Roster({ engine: new Engine({ store, world, workerStaleMs }), holder: workerStaleMs });
    await roster.tick('reaper');
    assert.deepEqual(roster.held(), ['reaper']);
    await roster.stop();
  };
}

onEach(
  'a worker is lost after two of its own intervals and not before, whoever holds the reaper',
  async (t, ground) => {
    const backend = await open(t, ground);
    const lookers = await Promise.all(['1h', '30s', '1s'].map((silence) => looker(t, ground, silence)));
    const [quick, half, slow] = ['quick', 'half', 'slow'];
    /** Who is lost after each of them has looked, the most patient first. */
    const found = async (): Promise<readonly (readonly string[])[]> => {
      const after: (readonly string[])[] = [];
      for (const look of lookers) {
        await look();
        after.push(await ids(backend, { status: 'lost' }));
      }
      return after;
    };
    const all = (...lost: readonly string[]): readonly (readonly string[])[] => lookers.map(() => lost);
    await backend.register({ worker_id: quick, heartbeat_interval: 2 });
    await backend.register({ worker_id: half, heartbeat_interval: 30 });
    await backend.register({ worker_id: slow, heartbeat_interval: 300 });
    for (let i = 0; i < 3; i++) {
      for (const one of [quick, half]) await backend.heartbeat(one);
      await ground.elapse(4000);
      assert.deepEqual(await found(), all());
      await ground.elapse(1);
      assert.deepEqual(await found(), all(quick));
      await ground.elapse(26_000 - 1);
      assert.deepEqual(await found(), all(quick));
    }
    await ground.elapse(30_000);
    assert.deepEqual(await found(), all(quick));
    await ground.elapse(1);
    assert.deepEqual(await found(), all(quick, half));
    await ground.elapse(480_000 - 1);
    assert.deepEqual(await found(), all(quick, half));
    await ground.elapse(1);
    assert.deepEqual(await found(), all(quick, half, slow));
  },
);

onEach('no process that looks for lost workers has another opinion of their silence', async (t, ground) => {
  const world = ground.virtual;
  if (world === undefined) return t.skip('the reaper wants real time here');
  // The reaper of this one has its defaults, by which a worker is lost after half a minute.
  const work = await createWorkBackend(ground.config, { world });
  t.after(() => work.close());
  const backend = await open(t, ground);
  const word = async (worker_id: string): Promise<unknown> => (await backend.get(worker_id))?.status;
  await backend.register({ worker_id: 'w1' });
  await backend.register({ worker_id: 'quick', heartbeat_interval: 2 });
  for (let i = 0; i < 5; i++) {
    await backend.heartbeat('w1');
    await backend.heartbeat('quick');
    await world.advance(4000);
    assert.equal(await word('quick'), 'active');
    await world.advance(36_000);
    assert.deepEqual([await word('w1'), await word('quick')], ['active', 'lost']);
  }
  await world.advance(20_000);
  assert.equal(await word('w1'), 'active');
  await world.advance(6000);
  assert.equal(await word('w1'), 'lost');
});

onEach('A5: a worker whose loop is blocked is not stale while its claims are renewed', async (t, ground) => {
  const world = ground.virtual;
  if (world === undefined) return t.skip('its time is real: test/chaos/compat/compat-failover.test.ts');
  const registration = await open(t, ground);
  const work = await createWorkBackend(ground.config, { world, duties: false });
  t.after(() => work.close());
  await registration.register({ worker_id: 'w1' });
  await work.pool('papers').push(1);
  await work.pool('papers').claim('w1');
  await world.advance(100_000);
  assert.deepEqual(await ids(registration, { stale_threshold_seconds: 60 }), []);
  world.elapse(100_000);
  assert.deepEqual(await ids(registration, { stale_threshold_seconds: 60 }), ['w1']);
});

onEach('A9, A16: whoever works on the store says that a silent worker is lost', async (t, ground) => {
  const world = ground.virtual;
  if (world === undefined) return t.skip('the reaper wants real time here');
  const backend = await open(t, ground, {});
  await backend.register({ worker_id: 'w1' });
  await backend.updateStatus('w1', 'terminating');
  await world.advance(150_000);
  assert.deepEqual(await ids(backend, { status: 'lost' }), ['w1']);
  await backend.heartbeat('w1');
  assert.equal((await backend.get('w1'))?.status, 'active');
});

onEach(
  'A.3-14: the reaper of FlatMachines finds a dead worker, marks it and gives its item back',
  async (t, ground) => {
    const options = { world: ground.world, duties: false };
    const registration = await open(t, ground);
    const dead = await createWorkBackend(ground.config, options);
    const live = await createWorkBackend(ground.config, options);
    t.after(() => Promise.all([dead.close(), live.close()]));
    await registration.register({ worker_id: 'w1' });
    const id = await live.pool('papers').push(1);
    await dead.pool('papers').claim('w1');
    await ground.elapse(61_000);
    const stale = await registration.list({ status: 'active', stale_threshold_seconds: 60 });
    assert.deepEqual(
      stale.map(({ worker_id, current_task_id }) => [worker_id, current_task_id]),
      [['w1', id]],
    );
    await registration.updateStatus('w1', 'lost');
    assert.equal(await live.pool('papers').releaseByWorker('w1'), 1);
    assert.equal((await registration.get('w1'))?.status, 'lost');
    assert.equal(await refusal(dead.pool('papers').complete(id, 'late')), 'LEASE_LOST');
    assert.equal((await live.pool('papers').claim('w2'))?.id, id);
  },
);

onEach('bad input is refused and changes nothing', async (t, ground) => {
  const backend = await open(t, ground);
  for (const bad of [
    { worker_id: '' },
    { worker_id: 'w1', pid: -1 },
    { worker_id: 'w1', capabilities: 'gpu' },
    { worker_id: 'w1', capabilities: [''] },
    { worker_id: 'w1', started_at: 'yesterday' },
    { worker_id: 'w1', pool_id: '' },
    { worker_id: 'w1', heartbeat_interval: 0 },
    { worker_id: 'w1', heartbeat_interval: '30' },
    { worker_id: 'w1', heartbeat_interval: 86_401 },
  ]) {
    assert.equal(await refusal(backend.register(bad as never)), 'INVALID_INPUT');
  }
  assert.equal(await refusal(backend.register({ worker_id: 'w1', tags: [] } as never)), 'UNKNOWN_OPTION');
  assert.deepEqual(await backend.list(), []);
  await backend.register({ worker_id: 'w1' });
  assert.equal(await refusal(backend.updateStatus('w1', '')), 'INVALID_INPUT');
  assert.equal(await refusal(backend.heartbeat('w1', [] as never)), 'INVALID_INPUT');
  assert.equal(await refusal(backend.list({ stale_threshold_seconds: -1 })), 'INVALID_INPUT');
  assert.equal(await refusal(backend.list({ capabilities: 'gpu' } as never)), 'UNKNOWN_OPTION');
});

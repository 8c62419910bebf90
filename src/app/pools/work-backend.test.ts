import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type Ground, onEachStore } from '../../../test/support/compat-grounds.ts';
import {
  type BackendConfig,
  createRegistrationBackend,
  createWorkBackend,
  type WorkBackend,
  type WorkItem,
} from '../../compat/index.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const folder = tempFolder('work-backend');
const onEach = (name: string, body: Parameters<typeof onEachStore>[2]): void => onEachStore(folder, name, body);

async function open(
  t: TestContext,
  { config, world }: Ground,
  options: Parameters<typeof createWorkBackend>[1] = { duties: false },
): Promise<WorkBackend> {
  const backend = await createWorkBackend(config, { world, ...options });
  t.after(() => backend.close().catch(() => {}));
  return backend;
}

async function claimed(backend: WorkBackend, pool: string, worker: string): Promise<WorkItem> {
  const item = await backend.pool(pool).claim(worker);
  assert.ok(item, 'nothing was claimed');
  return item;
}

onEach(`A.3-1: push answers an id, an empty pool gives null, a claim gives the data back`, async (t, ground) => {
  const pool = (await open(t, ground)).pool('papers');
  assert.equal(await pool.claim('w1'), null);
  const id = await pool.push({ paper: 'x', pages: [1, 2] });
  assert.match(id, /^\d+$/);
  assert.deepEqual(await pool.claim('w1'), {
    id,
    data: { paper: 'x', pages: [1, 2] },
    claimed_by: 'w1',
    attempts: 1,
    max_retries: 3,
  });
  assert.equal(await pool.claim('w1'), null);
});

onEach(`A.3-2: a failed item is pending again at once, until its last failure poisons it`, async (t, ground) => {
  const backend = await open(t, ground);
  const pool = backend.pool('papers');
  const id = await pool.push('x', { max_retries: 2 });
  for (const attempts of [1, 2]) {
    const item = await claimed(backend, 'papers', 'w1');
    assert.deepEqual([item.id, item.attempts, item.max_retries], [id, attempts, 2]);
    await pool.fail(id, 'no luck');
  }
  assert.equal(await pool.claim('w1'), null);
  assert.equal(await pool.size(), 0);
});

onEach(`A.3-3: size counts what is pending, not what is claimed, done or poisoned`, async (t, ground) => {
  const backend = await open(t, ground);
  const pool = backend.pool('papers');
  for (let n = 0; n < 4; n++) await pool.push(n, { max_retries: 1 });
  assert.equal(await pool.size(), 4);
  await pool.complete((await claimed(backend, 'papers', 'w1')).id, { fine: true });
  await pool.fail((await claimed(backend, 'papers', 'w1')).id);
  await claimed(backend, 'papers', 'w1');
  assert.equal(await pool.size(), 1);
});

onEach(`A.3-4: releaseByWorker frees exactly that worker's claims, once`, async (t, ground) => {
  const backend = await open(t, ground);
  const pool = backend.pool('papers');
  for (let n = 0; n < 3; n++) await pool.push(n);
  const mine = [await claimed(backend, 'papers', 'w1'), await claimed(backend, 'papers', 'w1')];
  const theirs = await claimed(backend, 'papers', 'w2');
  assert.equal(await pool.releaseByWorker('w1'), 2);
  assert.equal(await pool.releaseByWorker('w1'), 0);
  assert.equal(await pool.releaseByWorker('nobody'), 0);
  assert.equal(await pool.size(), 2);
  for (const { id } of mine) assert.equal(await refusal(pool.complete(id, 'late')), 'LEASE_LOST');
  await pool.complete(theirs.id);
});

onEach(`A.3-5: two pools never see each other's items`, async (t, ground) => {
  const backend = await open(t, ground);
  await backend.pool('a').push(1);
  assert.equal(await backend.pool('b').claim('w1'), null);
  assert.equal(await backend.pool('b').size(), 0);
  await claimed(backend, 'a', 'w1');
  assert.equal(await backend.pool('b').releaseByWorker('w1'), 0);
  assert.equal(await backend.pool('a').releaseByWorker('w1'), 1);
});

onEach('A6: a late result is refused, whatever was done with the item meanwhile', async (t, ground) => {
  const [a, b] = [await open(t, ground), await open(t, ground)];
  const id = await a.pool('papers').push(1);
  await claimed(a, 'papers', 'w1');
  assert.equal(await b.pool('papers').releaseByWorker('w1'), 1, 'by another process, in the name of the worker');
  assert.equal(await refusal(a.pool('papers').fail(id, 'late')), 'LEASE_LOST');
  const again = await claimed(b, 'papers', 'w2');
  assert.equal(again.attempts, 2);
  assert.equal(await refusal(a.pool('papers').complete(id, 'late')), 'LEASE_LOST');
  await b.pool('papers').complete(id, 'ours');
  assert.deepEqual(
    (await ground.rows('SELECT status, result FROM work_pool')).map((row) => Object.values(row)),
    [['done', '"ours"']],
  );
});

onEach('A6: two workers of one process are told apart by the item itself', async (t, ground) => {
  const backend = await open(t, ground);
  const pool = backend.pool('papers');
  await pool.push(1);
  const first = await claimed(backend, 'papers', 'w1');
  await pool.releaseByWorker('w1');
  const second = await claimed(backend, 'papers', 'w2');
  assert.equal(first.id, second.id);
  assert.equal(await refusal(pool.complete(first, 'late')), 'LEASE_LOST');
  await pool.complete(second, 'ours');
  await pool.complete(second, 'ours');
  assert.equal(await refusal(pool.fail(second)), 'LEASE_LOST');
  assert.equal(await refusal(pool.complete(second.id)), 'LEASE_LOST');
});

onEach('A8: an item that kills its workers is poisoned by the release too', async (t, ground) => {
  const backend = await open(t, ground);
  const pool = backend.pool('papers');
  await pool.push('bomb', { max_retries: 2 });
  for (const worker of ['w1', 'w2']) {
    await claimed(backend, 'papers', worker);
    assert.equal(await pool.releaseByWorker(worker), 1);
  }
  assert.equal(await pool.claim('w3'), null);
  assert.deepEqual(
    (await ground.rows('SELECT status, attempts, error FROM work_pool')).map((row) => Object.values(row)),
    [['poisoned', 2, 'the claims of worker w2 were released']],
  );
});

onEach(
  'A8, A16: an item whose worker vanishes costs a try, and whoever finds nothing takes it back',
  async (t, ground) => {
    // Long terms: nobody keeps a duty while time passes and no timer fires. Short leases: a server that has just been started
    // gives everybody the time of one.
    const options = { duties: false, dutyMs: 86_400_000, leaseMs: 1000 };
    const backend = await open(t, ground, options);
    await backend.pool('papers').push('bomb', { max_retries: 3 });
    for (const attempts of [1, 2, 3]) {
      assert.equal(await backend.pool('papers').size(), attempts === 1 ? 1 : 0);
      assert.equal((await claimed(backend, 'papers', `w${attempts}`)).attempts, attempts);
      // As when the process is gone: time passes, and nothing is renewed.
      await ground.elapse(2000);
    }
    assert.equal(await backend.pool('papers').claim('w4'), null);
    assert.equal((await ground.rows('SELECT status FROM work_pool'))[0]?.['status'], 'poisoned');
  },
);

onEach('A5: claims are kept for as long as their process lives', async (t, ground) => {
  const world = ground.virtual;
  if (world === undefined) return t.skip('its time is real: test/chaos/compat/compat-failover.test.ts');
  const backend = await open(t, ground, { housekeeping: false });
  const id = await backend.pool('papers').push(1);
  await claimed(backend, 'papers', 'w1');
  for (let n = 0; n < 20; n++) await world.advance(10_000);
  assert.equal(await backend.pool('papers').claim('w2'), null);
  await backend.pool('papers').complete(id, 'in the end');
});

onEach('a null means empty: what another process pushed a moment ago is found', async (t, ground) => {
  const [a, b] = [await open(t, ground), await open(t, ground)];
  for (let n = 0; n < 20; n++) {
    assert.equal(await b.pool('papers').claim('w1'), null);
    const id = await a.pool('papers').push(n);
    assert.equal((await b.pool('papers').claim('w1'))?.id, id);
  }
});

onEach('pool() gives the same object each time, as the hooks of FlatMachines expect', async (t, ground) => {
  const backend = await open(t, ground);
  await backend.pool('papers').push(1);
  const { id } = await claimed(backend, 'papers', 'w1');
  await backend.pool('papers').complete(id);
  assert.equal(backend.pool('papers'), backend.pool('papers'));
});

onEach('close gives back what is claimed, with its try', async (t, ground) => {
  const first = await open(t, ground);
  await first.pool('papers').push(1);
  await claimed(first, 'papers', 'w1');
  await first.close();
  const second = await open(t, ground);
  assert.equal((await claimed(second, 'papers', 'w1')).attempts, 1);
});

onEach('a worker claims in the name of its registration, where there is one', async (t, ground) => {
  const { config, world } = ground;
  const registration = await createRegistrationBackend(config, { world, duties: false });
  t.after(() => registration.close());
  const work = await open(t, ground);
  await registration.register({ worker_id: 'w1', capabilities: ['gpu'], started_at: '2026-01-01T00:00:00Z' });
  await registration.updateStatus('w1', 'reading');
  const id = await work.pool('papers').push(1);
  await claimed(work, 'papers', 'w1');
  const record = await registration.get('w1');
  assert.deepEqual([record?.status, record?.current_task_id, record?.capabilities], ['reading', id, ['gpu']]);
  const rows = await ground.rows('SELECT worker_id, status, current_task_id FROM worker_registry');
  assert.deepEqual(
    rows.map((row) => Object.values(row)),
    [['w1', 'reading', id]],
  );
  await work.pool('papers').complete(id);
  assert.equal((await registration.get('w1'))?.current_task_id, undefined);
});

onEach('each backend object is an incarnation of its own where there is no registration', async (t, ground) => {
  const [a, b] = [await open(t, ground), await open(t, ground)];
  for (let n = 0; n < 4; n++) await a.pool('papers').push(n);
  for (const backend of [a, b, a, b]) await claimed(backend, 'papers', 'w1');
  const [counted] = await ground.rows(`SELECT count(*) AS n FROM worker WHERE name = 'w1'`);
  assert.equal(Number(counted?.['n']), 2);
  assert.equal(await a.pool('papers').releaseByWorker('w1'), 4, 'whoever claimed them');
});

onEach('the names that FlatMachines programs make for workers are taken', async (t, ground) => {
  const backend = await open(t, ground);
  await backend.pool('papers').push(1);
  assert.equal((await claimed(backend, 'papers', 'Box.local:4711:Run_1')).claimed_by, 'Box.local:4711:Run_1');
  for (const bad of ['', 'a b', 'x'.repeat(200), 7 as never]) {
    assert.equal(await refusal(backend.pool('papers').claim(bad)), 'INVALID_INPUT');
  }
});

test('claims that are made together share a commit, and so do their ends', async (t) => {
  const file = join(folder, 'together.db');
  const backend = await createWorkBackend({ type: 'sqlite', sqlite_path: file }, { duties: false });
  t.after(() => backend.close());
  const pool = backend.pool('papers');
  await Promise.all(Array.from({ length: 17 }, (_, n) => pool.push(n)));
  const claim = async (): Promise<WorkItem> => claimed(backend, 'papers', 'w1');
  await pool.complete(await claim());
  const items = await Promise.all(Array.from({ length: 16 }, claim));
  await Promise.all(items.map((item) => pool.complete(item)));
  // The events of one kind and one commit are one row.
  const db = new DatabaseSync(file, { readOnly: true });
  t.after(() => db.close());
  const sizes = db.prepare('SELECT n FROM event WHERE state <> 0 ORDER BY seq').all();
  assert.deepEqual(
    sizes.map(({ n }) => n),
    [1, 1, 16, 16],
  );
});

test('a configuration that names no backend is refused, with those that exist', async () => {
  const message = async (config: unknown): Promise<string> => {
    const error = await createWorkBackend(config as BackendConfig).then(
      () => assert.fail('it was not refused'),
      (caught: Error & { hint?: string }) => caught,
    );
    return `${error.message} ${error.hint}`;
  };
  assert.match(await message({ type: 'mongo' }), /"mongo" is not one of sqlite, memory, postgres/);
  assert.match(await message({}), /nothing is not one of sqlite, memory/);
  assert.match(await message({ type: 'redis' }), /comes with a later version/);
  assert.match(await message({ type: 'postgres' }), /needs a URL/);
  assert.match(await message({ type: 'postgres', work_path: './work.db' }), /needs a URL/);
  assert.match(await message({ type: 'postgres', postgres_url: 7 }), /must be a URL/);
  assert.match(await message({ type: 'sqlite' }), /needs the path/);
  assert.match(await message({ type: 'sqlite', sqlite_path: '' }), /must be the path/);
  assert.match(await message({ typ: 'sqlite' }), /no option typ/);
  assert.equal(await refusal(createRegistrationBackend({ registration: 'redis' as never })), 'INVALID_INPUT');
});

onEach('bad input is refused and changes nothing', async (t, ground) => {
  const backend = await open(t, ground);
  const pool = backend.pool('papers');
  for (const max_retries of [-1, 1.5, 40_000, '3' as never]) {
    assert.equal(await refusal(pool.push(1, { max_retries })), 'INVALID_INPUT');
  }
  assert.equal(await refusal(pool.push(1, { maxRetries: 3 } as never)), 'UNKNOWN_OPTION');
  assert.equal(await refusal(pool.push(() => {})), 'INVALID_INPUT');
  assert.equal(await refusal(pool.complete('4711')), 'LEASE_LOST');
  assert.equal(await refusal(pool.complete({ id: '1' } as never)), 'LEASE_LOST');
  assert.equal(await refusal(backend.pool('Not A Queue').push(1)), 'INVALID_INPUT');
  assert.equal(await pool.size(), 0);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { DAY, HOUR, MINUTE, Scene } from '../conformance/scene.ts';
import { tempFolder } from '../conformance/temp-folder.ts';
import { VirtualWorld } from '../conformance/virtual-world.ts';
import { openSqlite } from './open.ts';

/** What the documents print for people who look into the file; `datetime('now')` is the real one. */
const QUERIES = {
  active: `SELECT * FROM runs WHERE status = 'running'`,
  queued: `SELECT * FROM runs WHERE status = 'queued' ORDER BY created_at`,
  stale: `SELECT * FROM runs
WHERE status = 'running'
AND lease_expires_at < datetime('now')`,
};

type Row = Record<string, unknown>;

const folder = tempFolder('views');
let files = 0;

interface Rig {
  readonly scene: Scene;
  readonly world: VirtualWorld;
  readonly rows: (sql: string) => readonly Row[];
  readonly row: (sql: string) => Row;
}

/** A store on a file, and a handle of somebody else who only reads. */
async function rig(t: TestContext, wall = Date.UTC(2026, 0, 5, 12)): Promise<Rig> {
  const world = new VirtualWorld({ wall });
  const file = join(folder, `${files++}.db`);
  const store = await openSqlite({ file, world, housekeeping: false });
  const scene = new Scene(store, world, { reopen: undefined, caller: undefined, pass: (ms) => world.advance(ms) });
  const db = new DatabaseSync(file, { readOnly: true });
  t.after(async () => {
    db.close();
    await store.close();
  });
  const rows = (sql: string): readonly Row[] => db.prepare(sql).all();
  return {
    scene,
    world,
    rows,
    row: (sql) => {
      const [first] = rows(sql);
      assert.ok(first, `nothing was found: ${sql}`);
      return first;
    },
  };
}

const RUN = { queue: 'runs', handler: 'agent' };
const idsOf = (rows: readonly Row[]): readonly unknown[] => rows.map(({ run_id }) => run_id);

test('the documented queries find running, queued and stale runs', async (t) => {
  const { scene, rows } = await rig(t, Date.now() - 2 * HOUR);
  const unique = (key: string) => ({ unique: { key, hash: 1, windowMs: DAY } });
  const stale = await scene.running({ ...RUN, ...unique('job_stale') }, { ttlMs: MINUTE });
  await scene.pass(HOUR);
  await scene.running({ ...RUN, ...unique('job_active') }, { ttlMs: 3 * HOUR });
  await scene.push({ ...RUN, ...unique('job_second'), delayMs: DAY });
  const plain = await scene.push(RUN);
  await scene.running({ queue: 'other' }, { ttlMs: MINUTE });
  assert.deepEqual(idsOf(rows(QUERIES.active)), ['job_stale', 'job_active']);
  assert.deepEqual(idsOf(rows(QUERIES.queued)), ['job_second', String(plain)]);
  assert.deepEqual(idsOf(rows(QUERIES.stale)), ['job_stale']);
  await scene.store.leaseRenew({ items: [{ task: stale.task, attempt: 1, ttlMs: 3 * HOUR }] });
  assert.deepEqual(idsOf(rows(QUERIES.stale)), []);
});

test('a run shows its spec, its owner and its times', async (t) => {
  const { scene, row } = await rig(t);
  const payload = JSON.stringify({ prompt: 'write', workspace_dir: '/home/user/project', max_iterations: 50 });
  const { task } = await scene.running({ ...RUN, payload }, { ttlMs: MINUTE });
  await scene.pass(1500);
  await scene.store.workerBeat({ beats: [{ worker: await scene.worker() }] });
  assert.deepEqual(
    { ...row('SELECT * FROM runs') },
    {
      run_id: String(task),
      created_at: '2026-01-05 12:00:00',
      updated_at: '2026-01-05 12:00:00',
      status: 'running',
      entrypoint: 'agent',
      run_spec_json: payload,
      workspace_dir: '/home/user/project',
      run_mode: null,
      job_path: null,
      last_job_prompt: 'write',
      max_iterations: 50,
      lease_owner: 'worker-1',
      lease_expires_at: '2026-01-05 12:01:00',
      last_heartbeat_at: '2026-01-05 12:00:01',
      cancel_requested_at: null,
      attempts: 1,
      max_attempts: 3,
      result: null,
      error: null,
    },
  );
  await scene.store.taskCancel({ tasks: [task] });
  const { status, cancel_requested_at } = row('SELECT * FROM runs');
  assert.deepEqual([status, cancel_requested_at], ['cancel_requested', '2026-01-05 12:00:01']);
});

test('a run that ended shows how, and who leased it no longer', async (t) => {
  const { scene, row } = await rig(t);
  const words = { completed: 'completed', failed: 'failed', cancelled: 'cancelled' } as const;
  for (const to of ['completed', 'failed', 'cancelled'] as const) {
    const grant = await scene.running({ ...RUN, handler: to });
    await scene.settle(grant, to, { result: '"x"' });
    const run = row(`SELECT * FROM runs WHERE run_id = '${grant.task}'`);
    assert.deepEqual(
      [run['status'], run['lease_owner'], run['lease_expires_at'], run['result'], run['error']],
      [words[to], null, null, to === 'completed' ? '"x"' : null, to === 'completed' ? null : '"x"'],
    );
  }
});

test('an input that is no object, or lies apart, is shown as well', async (t) => {
  const { scene, rows, row } = await rig(t);
  const prompt = 'p'.repeat(3000);
  await scene.push({ ...RUN, payload: '5' });
  await scene.push({ ...RUN, payload: JSON.stringify({ prompt }) });
  await scene.push({ ...RUN, payload: 'not JSON' });
  assert.deepEqual(
    rows('SELECT last_job_prompt FROM runs ORDER BY CAST(run_id AS INTEGER)').map((run) => run['last_job_prompt']),
    [null, prompt, null],
  );
  const grant = await scene.claimOne({ lanes: [await scene.lane('runs', 'agent')] });
  const long = JSON.stringify('r'.repeat(3000));
  await scene.settle(grant, 'completed', { result: long });
  assert.ok(row("SELECT result FROM runs WHERE status = 'completed'")['result'] === long);
  assert.ok(row("SELECT result FROM work_pool WHERE status = 'done'")['result'] === long);
  assert.equal(row(`SELECT data FROM work_pool WHERE id = '2'`)['data'], JSON.stringify({ prompt }));
});

test('a work item shows its pool, its data and what became of it, in the words of the document', async (t) => {
  const { scene, rows, row } = await rig(t);
  const { task } = await scene.running({ payload: '{"n":7}' });
  assert.deepEqual(
    { ...row('SELECT * FROM work_pool') },
    {
      id: String(task),
      item_id: String(task),
      pool_name: 'mail',
      data: '{"n":7}',
      status: 'claimed',
      claimed_by: 'worker-1',
      claimed_at: '2026-01-05 12:00:00',
      attempts: 1,
      max_retries: 3,
      result: null,
      error: null,
      created_at: '2026-01-05 12:00:00',
    },
  );
  await scene.giveBack({ task, attempt: 1 }, { error: '"no"' });
  const back = row('SELECT status, claimed_by, claimed_at, error FROM work_pool');
  assert.deepEqual({ ...back }, { status: 'pending', claimed_by: null, claimed_at: null, error: '"no"' });
  await scene.push({ delayMs: HOUR });
  for (const to of ['completed', 'failed', 'cancelled'] as const) {
    await scene.settle(await scene.running({ queue: to }), to, { result: `"${to}"` });
  }
  assert.deepEqual(
    rows('SELECT status, result, error FROM work_pool ORDER BY CAST(id AS INTEGER)').map((item) => Object.values(item)),
    [
      ['pending', null, '"no"'],
      ['pending', null, null],
      ['done', '"completed"', null],
      ['poisoned', null, '"failed"'],
      ['cancelled', null, '"cancelled"'],
    ],
  );
  assert.equal(row("SELECT count(*) AS n FROM work_pool WHERE pool_name = 'mail' AND status = 'pending'")['n'], 2);
});

test('a worker is shown once under its name, as its newest start', async (t) => {
  const { scene, rows, row } = await rig(t);
  const { store } = scene;
  const said = { name: 'box', slots: 2, tags: ['gpu'], host: 'h1', pid: 12 };
  await store.workerRegister({ ...said, incarnation: 'one' });
  const worker = await store.workerRegister({ ...said, incarnation: 'two', pid: 13 });
  await scene.pass(2000);
  await store.workerBeat({ beats: [{ worker, metadata: '{"m":1}' }] });
  const { task } = await scene.running({}, { holder: worker });
  assert.equal(rows('SELECT * FROM worker_registry').length, 1);
  assert.deepEqual(
    { ...row('SELECT * FROM worker_registry') },
    {
      worker_id: 'box',
      status: 'active',
      last_heartbeat: '2026-01-05 12:00:02',
      host: 'h1',
      pid: 13,
      capabilities: '["gpu"]',
      pool_id: null,
      started_at: '2026-01-05 12:00:00',
      current_task_id: String(task),
      metadata: '{"m":1}',
    },
  );
});

test('the word for a worker is its own, or follows its state', async (t) => {
  const { scene, row } = await rig(t);
  const { store } = scene;
  const worker = await scene.newWorker();
  const status = (): unknown => row('SELECT status FROM worker_registry')['status'];
  assert.equal(status(), 'active');
  for (const [state, word] of [
    ['online', 'active'],
    ['draining', 'terminating'],
    ['offline', 'terminated'],
  ] as const) {
    await store.workerBeat({ beats: [{ worker, state }] });
    assert.equal(status(), word);
  }
  await store.workerBeat({ beats: [{ worker, state: 'online', status: 'busy with it' }] });
  assert.equal(status(), 'busy with it');
  await scene.pass(HOUR);
  await store.workerReap({ duty: await scene.duty(), staleMs: MINUTE });
  assert.equal(status(), 'lost');
});

test('expiries follow the calendar, as soon as the reaper has noted that somebody set the clock', async (t) => {
  const { scene, world, row } = await rig(t);
  await scene.running(RUN, { ttlMs: MINUTE });
  const duty = await scene.duty('reaper', DAY);
  world.jump(DAY);
  await scene.store.leaseReap({ duty, items: [] });
  const { lease_expires_at, last_heartbeat_at } = row('SELECT * FROM runs');
  assert.deepEqual([lease_expires_at, last_heartbeat_at], ['2026-01-06 12:01:00', '2026-01-06 12:00:00']);
});

test('the views can only be read', async (t) => {
  const { scene } = await rig(t);
  await scene.push(RUN);
  const db = new DatabaseSync(join(folder, `${files - 1}.db`));
  t.after(() => db.close());
  for (const view of ['runs', 'work_pool', 'worker_registry']) {
    assert.throws(() => db.exec(`DELETE FROM ${view}`), /cannot modify/);
  }
});

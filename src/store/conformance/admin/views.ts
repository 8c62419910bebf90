import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DAY, HOUR, MINUTE, type Scene } from '../kit/scene.ts';

export type Row = Record<string, unknown>;

/** A store, and another client that reads its views. */
export interface ViewRig {
  readonly scene: Scene;
  readonly rows: (sql: string) => Promise<readonly Row[]>;
  /** Writes directly to the database. */
  readonly write: (sql: string) => Promise<void>;
}

export interface ViewOptions {
  readonly name: string;
  /** The present time in SQL, in the format of the views. */
  readonly now: string;
  readonly open: (t: TestContext, wall: number) => Promise<ViewRig>;
}

const RUN = { queue: 'runs', handler: 'agent' };
const idsOf = (rows: readonly Row[]): readonly unknown[] => rows.map(({ run_id }) => run_id);

/** The views `runs`, `work_pool` and `worker_registry`: the same columns and words on every store that has SQL. */
export function viewCases({ name, now, open }: ViewOptions): void {
  const rig = async (
    t: TestContext,
    wall = Date.UTC(2026, 0, 5, 12),
  ): Promise<ViewRig & { row: (sql: string) => Promise<Row> }> => {
    const opened = await open(t, wall);
    const row = async (sql: string): Promise<Row> => {
      const [first] = await opened.rows(sql);
      assert.ok(first, `nothing was found: ${sql}`);
      return first;
    };
    return { ...opened, row };
  };
  /** The queries that the documents print for people who look into the store. */
  const queries = {
    active: `SELECT * FROM runs WHERE status = 'running'`,
    queued: `SELECT * FROM runs WHERE status = 'queued' ORDER BY created_at`,
    stale: `SELECT * FROM runs\nWHERE status = 'running'\nAND lease_expires_at < ${now}`,
  };

  test(`${name}: the documented queries find running, queued and stale runs`, async (t) => {
    const { scene, rows } = await rig(t, Date.now() - 2 * HOUR);
    const unique = (key: string) => ({ unique: { key, hash: 1, windowMs: DAY } });
    const stale = await scene.running({ ...RUN, ...unique('job_stale') }, { ttlMs: MINUTE });
    await scene.pass(HOUR);
    await scene.running({ ...RUN, ...unique('job_active') }, { ttlMs: 3 * HOUR });
    await scene.push({ ...RUN, ...unique('job_second'), delayMs: DAY });
    const plain = await scene.push(RUN);
    await scene.running({ queue: 'other' }, { ttlMs: MINUTE });
    assert.deepEqual(idsOf(await rows(queries.active)), ['job_stale', 'job_active']);
    assert.deepEqual(idsOf(await rows(queries.queued)), ['job_second', String(plain)]);
    assert.deepEqual(idsOf(await rows(queries.stale)), ['job_stale']);
    await scene.store.leaseRenew({ items: [{ task: stale.task, attempt: 1, ttlMs: 3 * HOUR }] });
    assert.deepEqual(idsOf(await rows(queries.stale)), []);
  });

  test(`${name}: a run shows its spec, its owner and its times`, async (t) => {
    const { scene, row } = await rig(t);
    const payload = JSON.stringify({ prompt: 'write', workspace_dir: '/home/user/project', max_iterations: 50 });
    const { task } = await scene.running({ ...RUN, payload }, { ttlMs: MINUTE });
    await scene.pass(1500);
    await scene.store.workerBeat({ beats: [{ worker: await scene.worker() }] });
    assert.deepEqual(await row('SELECT * FROM runs'), {
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
    });
    await scene.store.taskCancel({ tasks: [task] });
    const { status, cancel_requested_at } = await row('SELECT * FROM runs');
    assert.deepEqual([status, cancel_requested_at], ['cancel_requested', '2026-01-05 12:00:01']);
  });

  test(`${name}: a run that ended shows how, and who leased it no longer`, async (t) => {
    const { scene, row } = await rig(t);
    const words = { completed: 'completed', failed: 'failed', cancelled: 'cancelled' } as const;
    for (const to of ['completed', 'failed', 'cancelled'] as const) {
      const grant = await scene.running({ ...RUN, handler: to });
      await scene.settle(grant, to, { result: '"x"' });
      const run = await row(`SELECT * FROM runs WHERE run_id = '${grant.task}'`);
      assert.deepEqual(
        [run['status'], run['lease_owner'], run['lease_expires_at'], run['result'], run['error']],
        [words[to], null, null, to === 'completed' ? '"x"' : null, to === 'completed' ? null : 'x'],
      );
    }
  });

  test(`${name}: an input that is no object, or lies apart, is shown as well`, async (t) => {
    const { scene, rows, row } = await rig(t);
    const prompt = 'p'.repeat(3000);
    await scene.push({ ...RUN, payload: '5' });
    await scene.push({ ...RUN, payload: JSON.stringify({ prompt }) });
    await scene.push({ ...RUN, payload: 'not JSON' });
    assert.deepEqual(
      (await rows('SELECT last_job_prompt FROM runs ORDER BY CAST(run_id AS INTEGER)')).map(
        (run) => run['last_job_prompt'],
      ),
      [null, prompt, null],
    );
    const grant = await scene.claimOne({ lanes: [await scene.lane('runs', 'agent')] });
    const long = JSON.stringify('r'.repeat(3000));
    await scene.settle(grant, 'completed', { result: long });
    assert.ok((await row("SELECT result FROM runs WHERE status = 'completed'"))['result'] === long);
    assert.ok((await row("SELECT result FROM work_pool WHERE status = 'done'"))['result'] === long);
    assert.equal((await row(`SELECT data FROM work_pool WHERE id = '2'`))['data'], JSON.stringify({ prompt }));
  });

  test(`${name}: a work item shows its pool, its data and what became of it, in the words of the document`, async (t) => {
    const { scene, rows, row } = await rig(t);
    const { task } = await scene.running({ payload: '{"n":7}' });
    assert.deepEqual(await row('SELECT * FROM work_pool'), {
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
    });
    await scene.giveBack({ task, attempt: 1 }, { error: '{"message":"no","name":"Error"}' });
    const back = await row('SELECT status, claimed_by, claimed_at, error FROM work_pool');
    assert.deepEqual(back, { status: 'pending', claimed_by: null, claimed_at: null, error: 'no' });
    await scene.push({ delayMs: HOUR });
    for (const to of ['completed', 'failed', 'cancelled'] as const) {
      await scene.settle(await scene.running({ queue: to }), to, { result: `"${to}"` });
    }
    assert.deepEqual(
      (await rows('SELECT status, result, error FROM work_pool ORDER BY CAST(id AS INTEGER)')).map((item) =>
        Object.values(item),
      ),
      [
        ['pending', null, 'no'],
        ['pending', null, null],
        ['done', '"completed"', null],
        ['poisoned', null, 'failed'],
        ['cancelled', null, 'cancelled'],
      ],
    );
    assert.equal(
      Number((await row("SELECT count(*) AS n FROM work_pool WHERE pool_name = 'mail' AND status = 'pending'"))['n']),
      2,
    );
  });

  test(`${name}: a worker is shown once under its name, as its newest start`, async (t) => {
    const { scene, rows, row } = await rig(t);
    const { store } = scene;
    const said = { name: 'box', slots: 2, tags: ['gpu'], host: 'h1', pid: 12, pool: 'papers' };
    await store.workerRegister({ ...said, incarnation: 'one' });
    const worker = await store.workerRegister({ ...said, incarnation: 'two', pid: 13 });
    await scene.pass(2000);
    await store.workerBeat({ beats: [{ worker, metadata: '{"m":1,"error":"no \\"quotes\\""}' }] });
    const { task } = await scene.running({}, { holder: worker });
    assert.equal((await rows('SELECT * FROM worker_registry')).length, 1);
    assert.deepEqual(await row('SELECT * FROM worker_registry'), {
      worker_id: 'box',
      status: 'active',
      last_heartbeat: '2026-01-05 12:00:02',
      host: 'h1',
      pid: 13,
      capabilities: '["gpu"]',
      pool_id: 'papers',
      started_at: '2026-01-05 12:00:00',
      current_task_id: String(task),
      metadata: '{"m":1,"error":"no \\"quotes\\""}',
      error: 'no "quotes"',
    });
  });

  test(`${name}: the word for a worker is its own, or follows its state`, async (t) => {
    const { scene, row } = await rig(t);
    const { store } = scene;
    const worker = await scene.newWorker();
    const status = async (): Promise<unknown> => (await row('SELECT status FROM worker_registry'))['status'];
    assert.equal(await status(), 'active');
    for (const [state, word] of [
      ['online', 'active'],
      ['draining', 'terminating'],
      ['offline', 'terminated'],
    ] as const) {
      await store.workerBeat({ beats: [{ worker, state }] });
      assert.equal(await status(), word);
    }
    await store.workerBeat({ beats: [{ worker, state: 'online', status: 'busy with it' }] });
    assert.equal(await status(), 'busy with it');
    await scene.pass(HOUR);
    await store.workerReap({ duty: await scene.duty(), staleMs: MINUTE });
    assert.equal(await status(), 'lost');
  });

  test(`${name}: the views can only be read`, async (t) => {
    const { scene, write } = await rig(t);
    await scene.push(RUN);
    for (const view of ['runs', 'work_pool', 'worker_registry']) {
      await assert.rejects(write(`DELETE FROM ${view}`), /cannot (modify|delete from view)/);
    }
  });
}

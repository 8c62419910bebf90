/** The acceptance cases of Universal Agent for its pool, by their numbers; and what its document says beyond them. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { onBothStores as onBoth } from '../../../../test/support/runs/run-pools.ts';
import { refusal } from '../../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import {
  getRun,
  listRunAttempts,
  PoolConfig,
  queueRun,
  type RunHandler,
  requestCancel,
  Worker,
  WorkerConfig,
  WorkerPoolManager,
} from '../../index.ts';

const folder = tempFolder('run-pools');
const onBothStores = (name: string, body: Parameters<typeof onBoth>[2]): void => onBoth(folder, name, body);
const fine: RunHandler = () => true;

/** A handler that waits until it is let go, or told to stop. */
function gate() {
  const began = Promise.withResolvers<string>();
  const open = Promise.withResolvers<boolean>();
  const handler: RunHandler = (runId, _, { signal }) => {
    began.resolve(runId);
    signal.addEventListener('abort', () => open.reject(signal.reason));
    return open.promise;
  };
  return { began: began.promise, open: () => open.resolve(true), handler };
}

test('B.3-1: configurations have the defaults of the document', () => {
  const { workerId, ...worker } = new WorkerConfig();
  assert.match(workerId, /^worker_[0-9a-f]{8}$/);
  assert.deepEqual(worker, {
    leaseTtlSeconds: 60,
    heartbeatIntervalSeconds: 15,
    pollIntervalSeconds: 5,
    maxConcurrentRuns: 1,
    gatewayUrl: null,
    retryFailures: false,
  });
  const { dbPath, minWorkers, maxWorkers, scaleUpThreshold, scaleDownIdleSeconds } = new PoolConfig();
  assert.deepEqual(
    [dbPath, minWorkers, maxWorkers, scaleUpThreshold, scaleDownIdleSeconds],
    ['runtime.db', 1, 4, 5, 300],
  );
});

test('B.3-1: configurations keep what they are given, in both spellings, and refuse what makes no sense', async () => {
  const worker = new WorkerConfig({ worker_id: 'a', lease_ttl_seconds: 120, gateway_url: 'http://localhost:8002' });
  assert.deepEqual([worker.workerId, worker.leaseTtlSeconds, worker.gatewayUrl], ['a', 120, 'http://localhost:8002']);
  assert.equal(new PoolConfig({ minWorkers: 2, max_workers: 8 }).maxWorkers, 8);
  const wrong = async (make: () => unknown): Promise<string | undefined> => refusal(Promise.resolve().then(make));
  assert.equal(await wrong(() => new PoolConfig({ min_workers: 5 })), 'INVALID_INPUT', 'more than the most');
  assert.equal(await wrong(() => new PoolConfig({ minWorkers: 1, min_workers: 1 })), 'INVALID_INPUT');
  assert.equal(await wrong(() => new PoolConfig({ workers: 1 } as never)), 'UNKNOWN_OPTION');
  assert.equal(await wrong(() => new WorkerConfig({ leaseTtlSeconds: 0 })), 'INVALID_INPUT');
  assert.equal(await wrong(() => new WorkerConfig({ gateway_url: 'localhost' })), 'INVALID_INPUT');
  assert.equal(await wrong(() => new WorkerPoolManager({ processes: true }, {}, fine)), 'INVALID_INPUT');
});

test('B.3-1: worker ids are unique', () => {
  assert.equal(new Set(Array.from({ length: 1000 }, () => new WorkerConfig().workerId)).size, 1000);
});

test('the figures of a pool that has not started are zero', () => {
  assert.deepEqual(new WorkerPoolManager({}, {}, fine).getPoolStats(), {
    total_workers: 0,
    idle_workers: 0,
    processing_workers: 0,
    total_completed: 0,
    total_failed: 0,
    workers: {},
  });
});

onBothStores(
  'B.3-2: a start makes the least number of workers, each with a connection of its own, and a stop leaves none',
  async (_, { conn, pool: make }) => {
    const pool = make({ min_workers: 3 }, fine);
    await pool.start();
    const workers = [...pool.workers.values()] as Worker[];
    assert.equal(new Set([pool.conn, ...workers.map((worker) => worker.conn)]).size, 4);
    assert.ok(workers.every((worker) => worker.conn !== undefined));
    const rows = async () =>
      (await conn.app.workers()).filter(({ state }) => state === 'online').map(({ name }) => name);
    assert.deepEqual((await rows()).toSorted(), [...pool.workers.keys()].toSorted());
    await pool.stop();
    assert.equal(pool.workers.size, 0);
    assert.deepEqual(await rows(), []);
    assert.equal(await refusal(pool.start()), 'INVALID_INPUT', 'a pool starts once');
  },
);

onBothStores(
  'B.3-2: a pool without any handler is refused at its start, and leaves nothing behind',
  async (_, { pool: make }) => {
    const pool = make({}, undefined);
    assert.equal(await refusal(pool.start()), 'INVALID_INPUT');
    assert.deepEqual([pool.workers.size, pool.conn], [0, undefined]);
  },
);

onBothStores(
  'B.3-3: a stop that drains waits for the run, and with nothing to do for nobody',
  async (_, { conn, pool: make }) => {
    const idle = make({ min_workers: 2 }, fine);
    await idle.start();
    await idle.stop({ drain: true });
    const { began, open, handler } = gate();
    const pool = make({}, handler);
    await pool.start();
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    await began;
    await queueRun(conn, { run_id: 'job_2', prompt: 'x' });
    const stopped = pool.stop({ drain: true });
    const [stats] = Object.values(pool.getPoolStats().workers);
    assert.deepEqual([stats?.status, stats?.current_run], ['draining', 'job_1']);
    open();
    await stopped;
    assert.equal((await getRun(conn, 'job_1'))?.status, 'completed');
    assert.equal((await getRun(conn, 'job_2'))?.status, 'queued', 'nothing is begun meanwhile');
    assert.equal(pool.getPoolStats().total_completed, 1);
  },
);

onBothStores(
  'B.3-3: a stop without draining gives the run back, and another worker has it at once',
  async (_, { conn, pool: make, ended }) => {
    const { began, handler } = gate();
    const pool = make({}, handler);
    await pool.start();
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    await began;
    await pool.stop({ drain: false });
    const run = await getRun(conn, 'job_1');
    assert.deepEqual([run?.status, run?.lease_owner, run?.attempts], ['queued', null, 0], 'with its try');
    const next = make({}, fine);
    await next.start();
    await ended('job_1');
    assert.deepEqual(
      (await listRunAttempts(conn, 'job_1')).map(({ attempt_number, status, retry_reason }) => [
        attempt_number,
        status,
        retry_reason,
      ]),
      [
        [1, 'queued', 'initial_queue'],
        [2, 'completed', 'released'],
      ],
    );
  },
);

onBothStores(
  'B.3-4: a queued run has its first attempt to come, and a workspace where that is asked for',
  async (_, { conn }) => {
    const workspace_dir = join(folder, `w-${Math.random()}`);
    await queueRun(conn, { run_id: 'job_1', prompt: 'x', workspace_dir, scaffold: true });
    const run = await getRun(conn, 'job_1');
    assert.deepEqual(
      [run?.status, run?.latest_attempt_id, run?.canonical_attempt_id],
      ['queued', 'job_1:attempt:1', null],
    );
    assert.deepEqual(await listRunAttempts(conn, 'job_1'), [
      {
        attempt_id: 'job_1:attempt:1',
        run_id: 'job_1',
        attempt_number: 1,
        status: 'queued',
        lease_owner: null,
        started_at: null,
        ended_at: null,
        failure_class: null,
        failure_reason: null,
        retry_reason: 'initial_queue',
      },
    ]);
    assert.ok(existsSync(join(workspace_dir, 'attempts', '001')));
  },
);

onBothStores(
  'B.3-5: a run that a worker has performed is completed, and so is its attempt',
  async (_, { conn, pool: make, ended }) => {
    const workspace_dir = join(folder, `w-${Math.random()}`);
    const heard: unknown[] = [];
    const pool = make({}, (runId, workspace, { run, attempt, attemptDir, checkpoint, signal, heartbeat }) => {
      heard.push(runId, workspace, run.last_job_prompt, attempt, attemptDir, checkpoint, signal.aborted, heartbeat());
      return { success: true, result: { files: 3 } };
    });
    await queueRun(conn, { run_id: 'job_1', prompt: 'Analyze', workspace_dir });
    await pool.start();
    await ended('job_1');
    const attemptDir = join(workspace_dir, 'attempts', '001');
    assert.deepEqual(heard, ['job_1', workspace_dir, 'Analyze', 1, attemptDir, null, false, true]);
    assert.ok(existsSync(attemptDir), 'the worker has made it');
    const run = await getRun(conn, 'job_1');
    const first = 'job_1:attempt:1';
    assert.deepEqual(
      [run?.status, run?.result, run?.latest_attempt_id, run?.last_success_attempt_id, run?.canonical_attempt_id],
      ['completed', { files: 3 }, first, first, first],
    );
    const [attempt] = await listRunAttempts(conn, 'job_1');
    assert.deepEqual([attempt?.status, attempt?.failure_class], ['completed', null]);
    assert.ok([...pool.workers.keys()].includes(attempt?.lease_owner ?? ''));
  },
);

onBothStores(
  'B.3-6: a handler that throws fails its run, as worker_exception, with its trace and the id of the run in the log',
  async (_, { conn, pool: make, ended }) => {
    const lines: unknown[] = [];
    const log = { info: () => {}, warn: () => {}, error: (_: string, fields: unknown) => lines.push(fields) };
    const pool = make(
      {},
      () => {
        throw new TypeError('the disk is full');
      },
      {},
      { log },
    );
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    await pool.start();
    await ended('job_1');
    assert.equal((await getRun(conn, 'job_1'))?.status, 'failed');
    const [attempt] = await listRunAttempts(conn, 'job_1');
    assert.deepEqual([attempt?.failure_class, attempt?.failure_reason], ['worker_exception', 'the disk is full']);
    const [line] = lines as { run_id: string; error: string }[];
    assert.equal(line?.run_id, 'job_1');
    assert.match(line.error, /TypeError: the disk is full\n {4}at .*pool\.test/);
    assert.equal(lines.length, 1);
  },
);

onBothStores(
  'B.3-7: a handler that answers false fails its run, as run_handler_failed, and the worker goes on',
  async (_, { conn, pool: make, ended }) => {
    const pool = make({}, (runId) => runId === 'job_2');
    for (const run_id of ['job_1', 'job_2']) await queueRun(conn, { run_id, prompt: 'x' });
    await pool.start();
    await ended('job_1', 'job_2');
    const classes = (await listRunAttempts(conn, 'job_1')).map(({ failure_class }) => failure_class);
    assert.deepEqual(classes, ['run_handler_failed']);
    assert.equal((await getRun(conn, 'job_2'))?.status, 'completed');
    await pool.stop();
    const { total_completed, total_failed } = pool.getPoolStats();
    assert.deepEqual([total_completed, total_failed], [1, 1]);
  },
);

onBothStores(
  'by a setting, a failure is an attempt: the next one has the checkpoint of the one before',
  async (_, { conn, pool: make, ended }) => {
    const found: unknown[] = [];
    const handler: RunHandler = async (_run, _dir, { attempt, checkpoint, saveCheckpoint }) => {
      found.push(checkpoint);
      await saveCheckpoint({ page: 1 + 10 * attempt });
      await saveCheckpoint({ page: 2 + 10 * attempt });
      if (attempt < 3) throw new Error('not yet');
      return true;
    };
    const pool = make({}, handler, { retry_failures: true });
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    await pool.start();
    await ended('job_1');
    assert.deepEqual(found, [null, { page: 12 }, { page: 22 }]);
    assert.deepEqual(
      (await listRunAttempts(conn, 'job_1')).map(({ status, failure_class, retry_reason }) => [
        status,
        failure_class,
        retry_reason,
      ]),
      [
        ['failed', 'worker_exception', 'initial_queue'],
        ['failed', 'worker_exception', 'handler_failed'],
        ['completed', null, 'handler_failed'],
      ],
    );
  },
);

onBothStores(
  'B5: a cancel reaches the handler, and is the end of its run, whatever the handler says then',
  async (_, { conn, pool: make, ended }) => {
    const stubborn = Promise.withResolvers<void>();
    const { began, handler } = gate();
    const pool = make({ min_workers: 2 }, async (runId, dir, context) => {
      if (runId === 'job_1') return handler(runId, dir, context);
      stubborn.resolve();
      // It never looks at its signal.
      await asked.promise;
      return true;
    });
    const asked = Promise.withResolvers<void>();
    for (const run_id of ['job_1', 'job_2']) await queueRun(conn, { run_id, prompt: 'x' });
    await pool.start();
    await Promise.all([began, stubborn.promise]);
    for (const run_id of ['job_1', 'job_2'])
      assert.equal(await requestCancel(conn, run_id, 'no need'), 'cancel_requested');
    asked.resolve();
    await ended('job_1', 'job_2');
    for (const run_id of ['job_1', 'job_2']) {
      const run = await getRun(conn, run_id);
      assert.deepEqual([run?.status, run?.cancel_reason], ['cancelled', 'no need']);
    }
  },
);

onBothStores(
  'the monitor adds one worker a look at the threshold, never beyond the most, and sends idle ones home',
  async (_, { conn, pool: make, ended }) => {
    const open = Promise.withResolvers<boolean>();
    const pool = make({ max_workers: 3, scale_up_threshold: 5, scale_down_idle_seconds: 0 }, () => open.promise);
    await pool.start();
    const runs = Array.from({ length: 10 }, (_, i) => `job_${i}`);
    for (const run_id of runs) await queueRun(conn, { run_id, prompt: 'x' });
    const sizes: number[] = [];
    for (let look = 0; look < 4; look++) {
      await pool.check();
      sizes.push(pool.workers.size);
    }
    assert.deepEqual(sizes, [2, 3, 3, 3]);
    open.resolve(true);
    await ended(...runs);
    for (let look = 0; look < 20 && pool.workers.size > 1; look++) {
      await pool.check();
      await Promise.all(
        [...pool.workers.values()].filter(({ state }) => state.status === 'draining').map((one) => one.ended),
      );
    }
    const stats = pool.getPoolStats();
    assert.deepEqual([stats.total_workers, stats.total_completed], [1, 10], 'the figures of those that left stay');
  },
);

onBothStores(
  'a busy worker is never sent home, and one that takes a run in the last moment ends it',
  async (_, { conn, pool: make, ended }) => {
    const { began, open, handler } = gate();
    const pool = make({ min_workers: 0, scale_down_idle_seconds: 0, scaling: 'demand' }, handler);
    await pool.start();
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    assert.deepEqual(await pool.check(), { spawn: 1, remove: [] });
    await began;
    for (let look = 0; look < 5; look++) assert.deepEqual(await pool.check(), { spawn: 0, remove: [] });
    const [worker] = pool.workers.values();
    void worker?.stop({ drain: true });
    open();
    await ended('job_1');
    assert.equal((await getRun(conn, 'job_1'))?.status, 'completed');
  },
);

onBothStores('a worker that has ended by itself is replaced', async (_, { conn, pool: make, ended }) => {
  const pool = make({ min_workers: 2 }, fine);
  await pool.start();
  const [first] = pool.workers.values();
  await first?.stop();
  await pool.check();
  assert.equal(pool.workers.size, 2);
  assert.ok(!pool.workers.has(first?.workerId ?? ''));
  await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
  await ended('job_1');
});

onBothStores(
  'a worker alone works over a connection of its own, under its name and with its own lease',
  async (t, { conn, ended }) => {
    const seen = Promise.withResolvers<unknown>();
    const worker = new Worker({ worker_id: 'worker_001', lease_ttl_seconds: 90 }, conn, async (runId, _, own) => {
      const { lease_owner, lease_expires_at, created_at } = own.run;
      const left = (Date.parse(lease_expires_at ?? '') - Date.parse(created_at)) / 1000;
      seen.resolve([runId, lease_owner, left > 80 && left < 100, worker.state.status, worker.state.currentRunId]);
      return true;
    });
    t.after(() => worker.stop());
    assert.equal(worker.state.status, 'idle');
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    await worker.start();
    assert.deepEqual(await seen.promise, ['job_1', 'worker_001', true, 'processing', 'job_1']);
    await ended('job_1');
    await worker.stop({ drain: true });
    assert.deepEqual([worker.state.status, worker.state.runsCompleted], ['stopped', 1]);
    assert.equal(await refusal(worker.start()), 'INVALID_INPUT');
  },
);

onBothStores('a pool serves the queue that it is given, and no other', async (_, { conn, pool: make }) => {
  const heard = Promise.withResolvers<string>();
  const pool = make({ queue: 'nightly' }, (runId) => {
    heard.resolve(runId);
    return true;
  });
  await pool.start();
  await queueRun(conn, { run_id: 'other', prompt: 'x' });
  const nightly = await conn.connect({ queue: 'nightly' });
  await queueRun(nightly, { run_id: 'mine', prompt: 'x' });
  assert.equal(await heard.promise, 'mine');
  await nightly.close();
  await pool.stop();
  assert.equal((await getRun(conn, 'other'))?.status, 'queued');
});

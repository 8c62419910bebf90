import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Ground, ground as groundOf, onEachStore } from '../../../test/support/compat-grounds.ts';
import { realWorld } from '../../app/world.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import {
  acknowledgeCancel,
  acquireRunLease,
  acquireRunLeaseInfo,
  completeRun,
  connectRuntimeDb,
  failRun,
  getRun,
  heartbeatRunLease,
  heartbeatRunLeaseInfo,
  queueRun,
  type RunStatus,
  type RuntimeDb,
  releaseRunLease,
  requestCancel,
  runStateOf,
  taskStatesOf,
} from '../index.ts';

const folder = tempFolder('runtime-db');
const onEach = (name: string, body: Parameters<typeof onEachStore>[2]): void => onEachStore(folder, name, body);

async function connect(t: TestContext, { path, world }: Ground): Promise<RuntimeDb> {
  const conn = await connectRuntimeDb(path, { duties: false, world });
  t.after(() => conn.close());
  return conn;
}

interface Rig {
  readonly elapse: (ms: number) => Promise<void>;
  /** Two workers, each with a connection of its own. */
  readonly one: RuntimeDb;
  readonly two: RuntimeDb;
  readonly status: (runId?: string) => Promise<RunStatus | undefined>;
}

async function rig(t: TestContext, ground: Ground): Promise<Rig> {
  const [one, two] = [await connect(t, ground), await connect(t, ground)];
  await queueRun(one, RUN);
  const { elapse } = ground;
  return { elapse, one, two, status: async (runId = 'job_1') => (await getRun(two, runId))?.status };
}

const RUN = { run_id: 'job_1', prompt: 'Analyze', workspace_dir: '/home/user/project', max_iterations: 50 };

onEach('a queued run is shown with the columns of Universal Agent', async (t, ground) => {
  const { one, two } = await rig(t, ground);
  const expected = {
    run_id: 'job_1',
    status: 'queued',
    created_at: '2026-01-05T12:00:00.000Z',
    updated_at: '2026-01-05T12:00:00.000Z',
    entrypoint: 'run',
    run_spec: { prompt: 'Analyze', workspace_dir: '/home/user/project' },
    workspace_dir: '/home/user/project',
    last_job_prompt: 'Analyze',
    max_iterations: 50,
    lease_owner: null,
    lease_expires_at: null,
    last_heartbeat_at: null,
    cancel_requested_at: null,
    cancel_reason: null,
    attempt: 0,
    attempts: 0,
    max_attempts: 3,
    result: null,
    error: null,
    terminal_reason: null,
    latest_attempt_id: 'job_1:attempt:1',
    last_success_attempt_id: null,
    canonical_attempt_id: null,
  };
  assert.deepEqual(await getRun(two, 'job_1'), expected);
  assert.equal(await getRun(two, 'job_2'), null);
  assert.equal(await acquireRunLease(one, 'job_1', 'worker_1', 60), true);
  assert.deepEqual(await getRun(two, 'job_1'), {
    ...expected,
    status: 'running',
    lease_owner: 'worker_1',
    lease_expires_at: '2026-01-05T12:01:00.000Z',
    last_heartbeat_at: '2026-01-05T12:00:00.000Z',
    attempt: 1,
    attempts: 1,
  });
});

onEach(
  'the lease flow of Universal Agent: acquired, refused to another, extended, expired, taken over',
  async (t, ground) => {
    const { elapse, one, two } = await rig(t, ground);
    assert.equal(await acquireRunLease(one, 'job_1', 'worker_1', 60), true);
    assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), false);
    for (let n = 0; n < 10; n++) {
      await elapse(15_000);
      assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 60), true);
      assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), false);
    }
    // Worker 1 crashes, and 60 seconds pass.
    await elapse(60_001);
    assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), true);
    assert.equal((await getRun(one, 'job_1'))?.lease_owner, 'worker_2');
    assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 60), false);
  },
);

test('memory: without a name it is nobody else’s', async (t) => {
  const conn = await connectRuntimeDb('memory:');
  t.after(() => conn.close());
  await queueRun(conn, { runId: 'job_1', prompt: 'x', workspaceDir: '/w', maxIterations: 3 });
  assert.equal(await acquireRunLease(conn, 'job_1', 'worker_1', 60), true);
  assert.equal(await completeRun(conn, 'job_1', 'worker_1', { text: 'done' }), 'completed');
  const run = await getRun(conn, 'job_1');
  assert.deepEqual(
    [run?.status, run?.result, run?.workspace_dir, run?.max_iterations],
    ['completed', { text: 'done' }, '/w', 3],
  );
});

onEach(
  'A.3-7: the token grows by one with each takeover, and a run that is given back is anyone’s',
  async (t, ground) => {
    const { elapse, one, two, status } = await rig(t, ground);
    assert.deepEqual(await acquireRunLeaseInfo(one, 'job_1', 'worker_1', 60), { acquired: true, attempt: 1 });
    assert.deepEqual(await acquireRunLeaseInfo(two, 'job_1', 'worker_2', 60), { acquired: false });
    await elapse(61_000);
    assert.deepEqual(await acquireRunLeaseInfo(two, 'job_1', 'worker_2', 60), { acquired: true, attempt: 2 });
    await releaseRunLease(one, 'job_1', 'worker_1');
    await releaseRunLease(one, 'job_1', 'worker_2');
    await releaseRunLease(one, 'no such run', 'worker_2');
    assert.equal(await status(), 'running', 'released by nobody who holds it');
    await releaseRunLease(two, 'job_1', 'worker_2');
    assert.equal(await status(), 'queued');
    assert.deepEqual(await acquireRunLeaseInfo(one, 'job_1', 'worker_1', 60), { acquired: true, attempt: 3 });
  },
);

onEach('B1: a run whose worker died is taken over, without anybody else there to see to it', async (t, ground) => {
  const { elapse, one, two, status } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 1);
  await elapse(1001);
  assert.equal(await status(), 'running', 'nobody has looked yet');
  assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 1), true);
  await completeRun(two, 'job_1', 'worker_2');
  assert.equal(await status(), 'completed');
});

onEach('B1: of many who ask for an expired run in one moment, one gets it', async (t, ground) => {
  // Real time, but for a server whose clock stands still.
  const world = ground.virtual === undefined ? ground.world : realWorld();
  const conns = await Promise.all(Array.from({ length: 8 }, () => connect(t, { ...ground, world })));
  const [first] = conns as [RuntimeDb];
  await queueRun(first, { ...RUN, max_attempts: 100 });
  const tokens: number[] = [];
  while (tokens.length < 10) {
    const answers = await Promise.all(conns.map((conn, i) => acquireRunLeaseInfo(conn, 'job_1', `worker_${i}`, 0.02)));
    const won = answers.flatMap(({ attempt }) => attempt ?? []);
    // A host that stalls for a while may let the first winner's time run out before the last one asks.
    assert.ok(new Set(won).size === won.length, `${won.join(', ')}: one token was given twice`);
    tokens.push(...won);
    await ground.elapse(25);
  }
  assert.deepEqual(
    tokens.toSorted((a, b) => a - b),
    tokens.map((_, i) => i + 1),
    'each takeover has a token of its own, and none is left out',
  );
});

onEach('B1: a run that kills its workers ends', async (t, ground) => {
  const { elapse, one, two, status } = await rig(t, ground);
  for (const conn of [one, two, one]) {
    assert.equal(await acquireRunLease(conn, 'job_1', 'worker_1', 1), true);
    await elapse(1001);
  }
  assert.equal(await acquireRunLease(two, 'job_1', 'worker_1', 1), false);
  assert.equal(await status(), 'failed');
  assert.equal((await getRun(one, 'job_1'))?.terminal_reason, 'exhausted');
});

onEach('B2: who lost the lease can end the run in no way', async (t, ground) => {
  const { elapse, one, two, status } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 1);
  await elapse(1001);
  await acquireRunLease(two, 'job_1', 'worker_2', 60);
  assert.equal(await refusal(completeRun(one, 'job_1', 'worker_1', 'zombie')), 'LEASE_LOST');
  assert.equal(await refusal(failRun(one, 'job_1', 'worker_1', 'zombie')), 'LEASE_LOST');
  assert.equal(await refusal(acknowledgeCancel(one, 'job_1', 'worker_1')), 'LEASE_LOST');
  await releaseRunLease(one, 'job_1', 'worker_1');
  assert.equal(await status(), 'running');
  await completeRun(two, 'job_1', 'worker_2', 'ours');
  assert.equal((await getRun(one, 'job_1'))?.result, 'ours');
});

onEach('B3: a lease belongs to one acquisition, not to a name', async (t, ground) => {
  const { elapse, one, two, status } = await rig(t, ground);
  const first = await acquireRunLeaseInfo(one, 'job_1', 'worker_1', 1);
  await elapse(1001);
  // The same worker again, through the same connection and through another one.
  const second = await acquireRunLeaseInfo(one, 'job_1', 'worker_1', 60);
  assert.deepEqual([first.attempt, second.attempt], [1, 2]);
  const old = { attempt: 1 };
  await releaseRunLease(one, 'job_1', 'worker_1', old);
  assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 60, old), false);
  assert.equal(await refusal(completeRun(one, 'job_1', 'worker_1', 'stale', old)), 'LEASE_LOST');
  assert.equal(await heartbeatRunLease(two, 'job_1', 'worker_1', 60), false);
  await releaseRunLease(two, 'job_1', 'worker_1');
  assert.equal(await status(), 'running');
  assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 60, { attempt: 2 }), true);
  assert.equal(await acquireRunLease(one, 'job_1', 'worker_1', 60), false, 'it is held already');
});

onEach('B4: a renewal is refused after the reap, not after the expiry', async (t, ground) => {
  const { elapse, one, two } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 1);
  await elapse(5000);
  assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 1), true, 'late, and nobody has taken it');
  assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 1), false, 'it lives again');
  await elapse(5000);
  await acquireRunLease(two, 'job_1', 'worker_2', 60);
  assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 1), false);
});

onEach('B4: a heartbeat is refused to another owner and after the end, and tells of a cancel', async (t, ground) => {
  const { one, two } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 60);
  assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_2', 60), false);
  assert.equal(await heartbeatRunLease(two, 'job_1', 'worker_2', 60), false);
  assert.deepEqual(await heartbeatRunLeaseInfo(one, 'job_1', 'worker_1', 60), { held: true, cancelRequested: false });
  await requestCancel(two, 'job_1');
  assert.deepEqual(await heartbeatRunLeaseInfo(one, 'job_1', 'worker_1', 60), { held: true, cancelRequested: true });
  await acknowledgeCancel(one, 'job_1', 'worker_1');
  assert.deepEqual(await heartbeatRunLeaseInfo(one, 'job_1', 'worker_1', 60), { held: false, cancelRequested: false });
});

onEach('B5: a requested cancel is a state that no other end overwrites', async (t, ground) => {
  const { one, two, status } = await rig(t, ground);
  for (const [runId, end] of [
    ['job_a', completeRun],
    ['job_b', failRun],
    ['job_c', acknowledgeCancel],
    ['job_d', releaseRunLease],
  ] as const) {
    await queueRun(one, { run_id: runId, prompt: 'x' });
    await acquireRunLease(one, runId, 'worker_1', 60);
    assert.equal(await requestCancel(two, runId, 'not needed'), 'cancel_requested');
    assert.equal(await acquireRunLease(two, runId, 'worker_2', 60), false);
    await end(one, runId, 'worker_1');
    assert.equal(await status(runId), 'cancelled');
    const run = await getRun(two, runId);
    assert.deepEqual([run?.cancel_reason, run?.terminal_reason], ['not needed', 'requested']);
    assert.deepEqual(await getRun(one, runId), run, 'every connection knows the reason');
  }
});

onEach(
  'B5: a cancelled run that waits is over at once, and one whose worker died is not run again',
  async (t, ground) => {
    const { elapse, one, two, status } = await rig(t, ground);
    await queueRun(one, { run_id: 'waits', prompt: 'x' });
    assert.equal(await requestCancel(two, 'waits'), 'cancelled');
    assert.equal(await acquireRunLease(one, 'waits', 'worker_1', 60), false);
    await acquireRunLease(one, 'job_1', 'worker_1', 1);
    await requestCancel(two, 'job_1');
    await elapse(1001);
    assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), false);
    assert.equal(await status(), 'cancelled');
    assert.equal(await requestCancel(two, 'job_1'), 'cancelled', 'again, and nothing changes');
    assert.equal(await refusal(requestCancel(two, 'no such run')), 'NOT_FOUND');
  },
);

onEach('a run is found, cancelled with a reason and run again by its name, like any other run', async (t, ground) => {
  const { one, two, status } = await rig(t, ground);
  const { runs } = one.app.engine;
  assert.deepEqual([(await runs.get('job_1'))?.kind, (await runs.list({ kind: 'agent' })).runs.length], ['agent', 1]);
  await runs.cancel('job_1', { why: 'by an operator' });
  assert.equal((await getRun(two, 'job_1'))?.cancel_reason, 'by an operator');
  assert.equal((await queueRun(two, RUN)).status, 'cancelled', 'queued again it stays as it is');
  await runs.retry('job_1');
  assert.equal(await status(), 'queued');
  assert.equal((await getRun(two, 'job_1'))?.cancel_reason, null);
});

onEach('B6: to queue a run that exists never changes it', async (t, ground) => {
  const { elapse, one, two, status } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 60);
  assert.equal((await queueRun(two, RUN)).status, 'running', 'the same is answered with what there is');
  assert.equal(await refusal(queueRun(two, { ...RUN, prompt: 'something else' })), 'CONFLICT');
  assert.equal(await heartbeatRunLease(one, 'job_1', 'worker_1', 60), true);
  await completeRun(one, 'job_1', 'worker_1', 'done');
  await elapse(8 * 86_400_000);
  assert.equal((await queueRun(two, RUN)).status, 'completed', 'for as long as it is kept');
  assert.equal(await status(), 'completed');
  // Two who queue it in the same moment get one run.
  const both = await Promise.all([one, two].map((conn) => queueRun(conn, { run_id: 'job_2', prompt: 'x' })));
  assert.deepEqual(both[0], both[1]);
});

test('B7: the printed query finds leases that ran out earlier the same day', async (t) => {
  for (const kind of ['sqlite', 'memory', 'postgres'] as const) {
    // Its datetime('now') is the real one.
    const ground = await groundOf(t, kind, folder, Date.now() - 3_600_000);
    const { one } = await rig(t, ground);
    await queueRun(one, { run_id: 'job_2', prompt: 'x' });
    await queueRun(one, { run_id: 'job_3', prompt: 'x' });
    await acquireRunLease(one, 'job_1', 'worker_1', 60);
    await acquireRunLease(one, 'job_2', 'worker_1', 7200);
    const ids = async (sql: string): Promise<readonly unknown[]> =>
      (await ground.rows(sql)).map((row) => row['run_id']);
    assert.deepEqual(await ids(`SELECT * FROM runs WHERE status = 'running' ORDER BY run_id`), ['job_1', 'job_2']);
    assert.deepEqual(await ids(`SELECT * FROM runs WHERE status = 'queued' ORDER BY created_at`), ['job_3']);
    assert.deepEqual(
      await ids(`SELECT * FROM runs
WHERE status = 'running'
AND lease_expires_at < ${ground.sqlNow}`),
      ['job_1'],
    );
    const [row] = await ground.rows(`SELECT * FROM runs WHERE run_id = 'job_1'`);
    assert.deepEqual(
      [row?.['lease_owner'], row?.['last_job_prompt'], row?.['workspace_dir'], Number(row?.['max_iterations'])],
      ['worker_1', 'Analyze', '/home/user/project', 50],
    );
    assert.equal(row?.['entrypoint'], 'run');
  }
});

onEach('B13: only the clock of the store decides, whatever the calendar of a process says', async (t, ground) => {
  const { elapse, one, two } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 60);
  ground.jump(86_400_000);
  assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), false, 'a day ahead');
  ground.jump(-2 * 86_400_000);
  await elapse(60_001);
  assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), true, 'a day behind');
});

onEach('B.3-5, 6 and 7: a run ends as its worker says', async (t, ground) => {
  const { one, two, status } = await rig(t, ground);
  await acquireRunLease(one, 'job_1', 'worker_1', 60);
  assert.equal(await failRun(one, 'job_1', 'worker_1', new Error('gateway unreachable')), 'failed');
  const run = await getRun(two, 'job_1');
  assert.equal(run?.terminal_reason, 'gave_up');
  assert.match(JSON.stringify(run.error), /gateway unreachable/);
  assert.equal(await acquireRunLease(two, 'job_1', 'worker_2', 60), false);
  assert.equal(await status(), 'failed');
});

test('the words for states go both ways', () => {
  for (const status of ['queued', 'running', 'completed', 'failed', 'cancelled'] as const) {
    for (const state of taskStatesOf(status)) {
      assert.equal(runStateOf({ state, cancelRequestedAt: undefined }), status);
    }
  }
  assert.deepEqual(taskStatesOf('cancel_requested'), ['running']);
  assert.equal(runStateOf({ state: 'running', cancelRequestedAt: 1 }), 'cancel_requested');
});

onEach('bad input is refused and changes nothing', async (t, ground) => {
  const { one } = await rig(t, ground);
  assert.equal(await refusal(queueRun(one, { prompt: 'x' })), 'INVALID_INPUT');
  assert.equal(await refusal(queueRun(one, { run_id: 'a', prompt: 7 as never })), 'INVALID_INPUT');
  assert.equal(await refusal(queueRun(one, { run_id: 'a', prompt: 'x', max_iterations: -1 })), 'INVALID_INPUT');
  assert.equal(await refusal(queueRun(one, { run_id: 'a', prompt: 'x', workspace: '/w' } as never)), 'UNKNOWN_OPTION');
  assert.equal(await getRun(one, 'a'), null);
  for (const ttl of [0, -1, Number.NaN, 100_000, '60' as never]) {
    assert.equal(await refusal(acquireRunLease(one, 'job_1', 'worker_1', ttl)), 'INVALID_INPUT');
  }
  assert.equal(await refusal(acquireRunLease(one, 'no such run', 'worker_1', 60)), 'NOT_FOUND');
  assert.equal(await refusal(acquireRunLease(one, 'job_1', 'not a name', 60)), 'INVALID_INPUT');
  assert.equal((await getRun(one, 'job_1'))?.status, 'queued');
});

/** Acceptance cases B.3 8 to 10 of Universal Agent: what its missions and sessions have, runs have. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Ground, onEachStore } from '../../../test/support/compat-grounds.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import {
  acquireNextRun,
  acquireSessionLease,
  completeRun,
  connectRuntimeDb,
  getRun,
  getSessionLease,
  heartbeatRunLease,
  heartbeatSessionLease,
  listRunAttempts,
  queueRun,
  type RuntimeDb,
  releaseSessionLease,
  requestCancel,
} from '../index.ts';

const folder = tempFolder('missions');
const onEach = (name: string, body: Parameters<typeof onEachStore>[2]): void => onEachStore(folder, name, body);

async function connect(t: TestContext, { path, world }: Ground): Promise<RuntimeDb> {
  const conn = await connectRuntimeDb(path, { duties: false, world });
  t.after(() => conn.close());
  return conn;
}

onEach('B.3-8: runs are claimed by tier, then by priority, then by age', async (t, ground) => {
  const [one, two] = [await connect(t, ground), await connect(t, ground)];
  for (const [run_id, priority_tier, priority] of [
    ['old', 5, 0],
    ['young', 5, 0],
    ['urgent-low', 2, -1000],
    ['urgent-high', 2, 7],
    ['late-high', 9, 1000],
    ['normal-high', 5, 1000],
    ['first', 0, -1000],
  ] as const) {
    await queueRun(one, { run_id, prompt: 'x', priority_tier, priority });
    await ground.elapse(1);
  }
  const order: string[] = [];
  for (let next = await acquireNextRun(two, 'w', 60); next !== null; next = await acquireNextRun(two, 'w', 60)) {
    order.push(next.run_id);
  }
  assert.deepEqual(order, ['first', 'urgent-high', 'urgent-low', 'normal-high', 'old', 'young', 'late-high']);
});

onEach('B.3-8: a run that is to be cancelled is never claimed, also when its worker has died', async (t, ground) => {
  const [one, two] = [await connect(t, ground), await connect(t, ground)];
  await queueRun(one, { run_id: 'waits', prompt: 'x' });
  await requestCancel(two, 'waits');
  await queueRun(one, { run_id: 'runs', prompt: 'x' });
  assert.equal((await acquireNextRun(one, 'w1', 1))?.run_id, 'runs');
  assert.equal(await requestCancel(two, 'runs'), 'cancel_requested');
  await ground.elapse(1001);
  assert.equal(await acquireNextRun(two, 'w2', 60), null);
  assert.deepEqual(
    [(await getRun(two, 'waits'))?.status, (await getRun(two, 'runs'))?.status],
    ['cancelled', 'cancelled'],
  );
});

onEach(
  'B.3-8: an expired run is claimed again by whoever asks next, and its former worker is refused',
  async (t, ground) => {
    const [one, two] = [await connect(t, ground), await connect(t, ground)];
    await queueRun(one, { run_id: 'job_1', prompt: 'x' });
    assert.deepEqual(await acquireNextRun(one, 'w1', 1), { run_id: 'job_1', attempt: 1 });
    assert.equal(await acquireNextRun(two, 'w2', 60), null, 'it is held');
    await ground.elapse(1001);
    assert.deepEqual(await acquireNextRun(two, 'w2', 60), { run_id: 'job_1', attempt: 2 });
    assert.equal(await refusal(completeRun(one, 'job_1', 'w1')), 'LEASE_LOST');
    await completeRun(two, 'job_1', 'w2');
    assert.deepEqual(
      (await listRunAttempts(one, 'job_1')).map(({ status, lease_owner, failure_class, retry_reason }) => [
        status,
        lease_owner,
        failure_class,
        retry_reason,
      ]),
      [
        ['failed', 'w1', 'lease_expired', 'initial_queue'],
        ['completed', 'w2', null, 'lease_expired'],
      ],
    );
  },
);

onEach('B.3-8: a heartbeat by somebody else fails, and changes nothing', async (t, ground) => {
  const [one, two] = [await connect(t, ground), await connect(t, ground)];
  await queueRun(one, { run_id: 'job_1', prompt: 'x' });
  await acquireNextRun(one, 'w1', 10);
  await ground.elapse(9000);
  assert.equal(await heartbeatRunLease(two, 'job_1', 'w2', 600), false);
  assert.equal(await heartbeatRunLease(two, 'job_1', 'w1', 600), false, 'the name alone is nobody');
  await ground.elapse(1001);
  assert.equal((await acquireNextRun(two, 'w2', 60))?.attempt, 2);
});

onEach('B.3-9: who queues under the same idempotency key gets the run that is there', async (t, ground) => {
  const [one, two] = [await connect(t, ground), await connect(t, ground)];
  const asked = { prompt: 'Analyze', idempotency_key: 'mail-4711' };
  const [first, second] = await Promise.all([queueRun(one, asked), queueRun(two, asked)]);
  assert.equal(first.run_id, second.run_id);
  assert.equal((await queueRun(two, { ...asked, prompt: 'something else' })).last_job_prompt, 'Analyze');
  await acquireNextRun(one, 'w1', 60);
  await completeRun(one, first.run_id, 'w1', 'done');
  const again = await queueRun(two, asked);
  assert.deepEqual([again.run_id, again.status, again.result], [first.run_id, 'completed', 'done']);
  assert.notEqual((await queueRun(two, { ...asked, idempotency_key: 'mail-4712' })).run_id, first.run_id);
  assert.equal(await refusal(queueRun(one, { ...asked, run_id: 'job_1' })), 'INVALID_INPUT');
  assert.equal(await refusal(queueRun(one, { prompt: 'x' })), 'INVALID_INPUT', 'neither of them');
});

onEach(
  'B.3-10: a session is one owner’s until its time is over, and the same owner may enter again',
  async (t, ground) => {
    const [one, two] = [await connect(t, ground), await connect(t, ground)];
    assert.equal(await getSessionLease(one, 'coder'), null);
    assert.equal(await acquireSessionLease(one, 'coder', 'host-a', 30), true);
    assert.equal(await acquireSessionLease(two, 'coder', 'host-b', 30), false);
    await ground.elapse(20_000);
    assert.equal(await acquireSessionLease(two, 'coder', 'host-a', 30), true, 'the same owner, over any connection');
    await ground.elapse(20_000);
    assert.equal(await acquireSessionLease(two, 'coder', 'host-b', 30), false);
    assert.equal(await acquireSessionLease(two, 'writer', 'host-b', 30), true, 'another session');
    const { status, lease_owner } = (await getSessionLease(two, 'coder')) ?? assert.fail();
    assert.deepEqual([status, lease_owner], ['active', 'host-a']);
    await ground.elapse(10_001);
    assert.equal(await acquireSessionLease(two, 'coder', 'host-b', 30), true);
    assert.equal(await heartbeatSessionLease(one, 'coder', 'host-a', 30), false);
    assert.equal(await heartbeatSessionLease(two, 'coder', 'host-b', 30), true);
  },
);

onEach(
  'B.3-10: a session whose heartbeats fail is degraded, and one that was given back is idle',
  async (t, ground) => {
    const conn = await connect(t, ground);
    const status = async (): Promise<unknown> => (await getSessionLease(conn, 'coder'))?.status;
    await acquireSessionLease(conn, 'coder', 'host-a', 30);
    assert.equal(await heartbeatSessionLease(conn, 'coder', 'host-a', 30), true);
    await ground.elapse(30_001);
    assert.equal(await heartbeatSessionLease(conn, 'coder', 'host-a', 30), false);
    assert.equal(await status(), 'degraded');
    assert.equal((await getSessionLease(conn, 'coder'))?.lease_owner, 'host-a', 'who fell silent');
    assert.equal(await acquireSessionLease(conn, 'coder', 'host-a', 30), true);
    await releaseSessionLease(conn, 'coder', 'host-b');
    assert.equal(await status(), 'active');
    await releaseSessionLease(conn, 'coder', 'host-a');
    assert.equal(await status(), 'idle');
    assert.equal(await refusal(acquireSessionLease(conn, 'coder', 'host-a', 0)), 'INVALID_INPUT');
  },
);

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  acquireRunLease,
  completeRun,
  connectRuntimeDb,
  createWorkBackend,
  getRun,
  queueRun,
  type WorkBackend,
} from '../../../src/compat/index.ts';
import { Nursery } from '../children.ts';
import { configOf, newStore, STORES } from './compat-stores.ts';

const CHILD = new URL('./compat-failover-child.ts', import.meta.url);
const LOOK_MS = 25;
const LONGEST_MS = 20_000;

/** The first answer that is one, and how long it took. */
async function until<T>(ask: () => Promise<T | null | false>): Promise<{ readonly answer: T; readonly ms: number }> {
  const started = performance.now();
  for (;;) {
    const answer = await ask();
    const ms = performance.now() - started;
    if (answer !== null && answer !== false) return { answer, ms };
    assert.ok(ms < LONGEST_MS, 'it did not happen in time');
    await pause(LOOK_MS);
  }
}

async function pool(t: TestContext, url: string): Promise<ReturnType<WorkBackend['pool']>> {
  const backend = await createWorkBackend(configOf(url), { leaseMs: 1000, dutyMs: 1000 });
  t.after(() => backend.close());
  return backend.pool('papers');
}

function onEach(name: string, body: (t: TestContext, url: string) => Promise<void>): void {
  for (const kind of STORES) test(`${kind}: ${name}`, async (t) => body(t, await newStore(kind)));
}

onEach(
  'B1: when a worker is killed, another takes its run over once the lease has run out, and not before',
  async (t, url) => {
    const ttl = 2;
    const conn = await connectRuntimeDb(url);
    t.after(() => conn.close());
    await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
    const child = new Nursery(t).start(CHILD, ['run', url, `${ttl}`]);
    assert.equal((await child.hear('acquired')).answer, true);
    // For twice the time of the lease it is kept by heartbeats, and by nothing else.
    for (let beat = 1; beat <= 8; beat++) {
      assert.equal((await child.hear(`beat ${beat}`)).held, true);
      assert.equal(await acquireRunLease(conn, 'job_1', 'heir', ttl), false);
    }
    await child.kill();
    const { ms } = await until(() => acquireRunLease(conn, 'job_1', 'heir', ttl));
    t.diagnostic(`taken over ${Math.round(ms)} ms after the kill, with a lease of ${ttl} s`);
    assert.ok(ms > ttl * 500, 'a live lease was stolen');
    assert.ok(ms < ttl * 1000 + 6000);
    const run = await getRun(conn, 'job_1');
    assert.deepEqual([run?.lease_owner, run?.attempt, run?.attempts], ['heir', 2, 2]);
    assert.equal(await completeRun(conn, 'job_1', 'heir', 'done'), 'completed');
  },
);

onEach('B1: a run is taken over at once also by a process that starts after everybody has died', async (t, url) => {
  const first = await connectRuntimeDb(url);
  await queueRun(first, { run_id: 'job_1', prompt: 'x' });
  await first.close();
  // It holds every duty of the store, and takes them with it.
  const child = new Nursery(t).start(CHILD, ['run', url, '0.5']);
  await child.hear('beat 2');
  await child.kill();
  const conn = await connectRuntimeDb(url, { leaseMs: '1h' });
  t.after(() => conn.close());
  const { ms } = await until(() => acquireRunLease(conn, 'job_1', 'heir', 60));
  assert.ok(ms < 5000, `it took ${Math.round(ms)} ms`);
});

onEach('A5, B11: a worker that blocks its loop for four leases keeps its item', async (t, url) => {
  const mine = await pool(t, url);
  const id = await mine.push('long');
  // Long enough that a thread starts and connects while others keep the host busy.
  const leaseMs = 2500;
  const child = new Nursery(t).start(CHILD, ['item', url, `${4 * leaseMs}`, `${leaseMs}`]);
  assert.equal((await child.hear('claimed')).id, id);
  await until(async () => {
    assert.equal(await mine.claim('heir'), null);
    return child.said('done');
  });
  assert.equal((await child.hear('done')).answer, 'completed');
  await child.ended;
});

onEach('A8, A.3-14: the item of a killed worker comes back by itself, with its try used', async (t, url) => {
  const mine = await pool(t, url);
  const id = await mine.push('job');
  const child = new Nursery(t).start(CHILD, ['item', url, '60000']);
  await child.hear('claimed');
  await child.kill();
  const { answer, ms } = await until(() => mine.claim('heir'));
  t.diagnostic(`back ${Math.round(ms)} ms after the kill`);
  assert.deepEqual([answer.id, answer.attempts], [id, 2]);
  await mine.complete(id);
});

onEach('A.3-14: the item of a killed worker is back at once when it is released in its name', async (t, url) => {
  const mine = await pool(t, url);
  const id = await mine.push('job');
  const child = new Nursery(t).start(CHILD, ['item', url, '60000']);
  await child.hear('claimed');
  await child.kill();
  assert.equal(await mine.releaseByWorker('victim'), 1);
  assert.equal(await mine.releaseByWorker('victim'), 0);
  assert.equal((await mine.claim('heir'))?.id, id);
});

onEach('a released worker that lives after all is refused', async (t, url) => {
  const mine = await pool(t, url);
  const id = await mine.push('job');
  const child = new Nursery(t).start(CHILD, ['item', url, '1500']);
  await child.hear('claimed');
  assert.equal(await mine.releaseByWorker('victim'), 1);
  assert.equal((await mine.claim('heir'))?.id, id);
  assert.equal((await child.hear('done')).answer, 'LEASE_LOST');
  await mine.complete(id, 'ours');
  await child.ended;
});

/** A real Postgres whose clock is really set back by an hour while a node works on it, in real time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openNode } from '../../src/index.ts';
import type { Grant } from '../../src/store/store.ts';
import { findFaketime, startTimedPostgres } from './timed-postgres.ts';

const HOUR_S = 3600;
const AFTER_MS = 6000;
const TASK = { queue: 'mail', handler: 'send' } as const;
const NO_FAKETIME = 'libfaketime is not installed here: apt-get install libfaketime';
/** Far less than the hour by which everything would come later, however busy the machine is. */
const PATIENCE_MS = 2 * 60_000;

const skip = findFaketime() === undefined && NO_FAKETIME;

test('a Postgres whose clock is set back by an hour delays no retry, delay, wait, timeout or lease', {
  skip,
  timeout: PATIENCE_MS,
}, async (t) => {
  const server = await startTimedPostgres();
  t.after(() => server.stop());
  const node = await openNode(server.url('postgres'), { leaseMs: AFTER_MS });
  t.after(() => node.close());
  const { engine } = node;
  const state = async (task: number): Promise<string | undefined> => (await engine.get(task))?.state;
  const until = async (task: number, wanted: string): Promise<void> => {
    while ((await state(task)) !== wanted) await pause(50);
  };
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  const claim = async (): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant, 'there was nothing to claim');
    return grant;
  };

  await engine.push({ ...TASK, retry: { baseMs: AFTER_MS, factor: 1, jitter: 0 } });
  const failed = await claim();
  await engine.push(TASK);
  const sleeper = await claim();
  await engine.push(TASK);
  const silent = await claim();
  const began = performance.now();
  await engine.fail(failed, 'no');
  await engine.turn(sleeper, { entries: [], then: { go: 'park', key: 'k', timeout: AFTER_MS } });
  const delayed = await engine.push({ ...TASK, queue: 'later', delay: AFTER_MS });
  const late = await engine.push({ ...TASK, queue: 'nobody', waitTimeout: AFTER_MS });
  const runAt = Date.now() + HOUR_S * 1000;
  const dated = await engine.push({ ...TASK, queue: 'later', runAt });
  // Whoever has staged this one has looked at the clock.
  await until((await engine.push({ ...TASK, queue: 'soon', delay: 1 })).task, 'ready');

  server.setClock(-HOUR_S);
  // By the new clock, and not moved.
  const young = await engine.push({ ...TASK, queue: 'later', delay: '30m' });
  await Promise.all([
    until(failed.task, 'ready'),
    until(sleeper.task, 'ready'),
    until(silent.task, 'ready'),
    until(delayed.task, 'ready'),
    until(late.task, 'failed'),
  ]);
  assert.ok(performance.now() - began >= AFTER_MS - 50, 'nothing comes early');
  assert.deepEqual([await state(young.task), await state(dated.task)], ['scheduled', 'scheduled']);
  assert.equal((await engine.get(dated.task))?.runAt, runAt);
});

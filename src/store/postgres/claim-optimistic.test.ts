/** Claims behind limits with much room, which lock their counters late: what they do when the room is gone by then. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { realWorld } from '../../app/world.ts';
import { type LimitInput, normalizeLimit, normalizeUses } from '../../core/limits/limit.ts';
import type { ClaimAnswer } from '../store.ts';
import { openPostgres } from './open.ts';

interface Scene {
  readonly claim: (max: number) => Promise<ClaimAnswer | undefined>;
  readonly change: (limit: LimitInput) => Promise<unknown>;
  readonly active: () => Promise<number | undefined>;
  /** Another session, which changes the table of counters. */
  readonly other: pg.Client;
  /** How many sessions wait for a lock. */
  readonly waiting: () => Promise<number>;
}

/** Twenty tasks behind a limit of 1,000. Two of them were claimed, so the store knows that the limit is ample. */
async function scene(t: TestContext): Promise<Scene> {
  const url = await freshDatabase('ample');
  const store = await openPostgres({ url: `${url}&pool=3`, world: realWorld() });
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('SET search_path TO leasehold');
  t.after(async () => {
    await other.end();
    await store.close();
  });
  const change = (limit: LimitInput): Promise<unknown> =>
    store.limitPut({ name: 'api', limit: normalizeLimit(limit), by: 'test' });
  await change({ concurrent: 1000 });
  const holder = await store.workerRegister({ name: 'w', incarnation: 'w', slots: 8, tags: [] });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'run', limits: normalizeUses(['api']) }] });
  const [spec] = (await store.specIntern({ specs: ['{}'] })) as [number];
  assert.ok(lane);
  const task = { lane: lane.id, spec, priority: 0, maxTries: 3, payload: '1' };
  await store.taskPush({ items: Array.from({ length: 20 }, () => task) });
  const claim = async (max: number): Promise<ClaimAnswer | undefined> =>
    (await store.taskClaim({ claims: [{ holder, ttlMs: 60_000, max, lanes: [{ lane: lane.id, max }] }] }))[0];
  const active = async (): Promise<number | undefined> => {
    const { rows } = await other.query<{ active: number }>('SELECT active FROM slot');
    return rows[0]?.active;
  };
  const waiting = async (): Promise<number> => {
    const { rows } = await other.query<{ n: string }>(
      `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return Number(rows[0]?.n);
  };
  assert.equal((await claim(2))?.grants.length, 2);
  return { claim, change, active, other, waiting };
}

/**
 * A claim that has found room and waits for the lock of its counter. Another session holds the lock until it has made
 * this change.
 */
async function overtaken(scene: Scene, change: string): Promise<ClaimAnswer | undefined> {
  const { claim, other, waiting } = scene;
  await other.query('BEGIN');
  await other.query(change);
  const claimed = claim(8);
  while ((await waiting()) === 0) await new Promise(setImmediate);
  await other.query('COMMIT');
  return claimed;
}

test('behind a limit that is far away, tasks are granted and counted', async (t) => {
  const { claim, active } = await scene(t);
  assert.equal((await claim(8))?.grants.length, 8);
  assert.equal(await active(), 10);
  const rest = await claim(16);
  assert.deepEqual([rest?.grants.length, rest?.blocked], [10, []]);
  assert.equal(await active(), 20);
});

test('a limit that was lowered holds for the very next claim', async (t) => {
  const { claim, change, active } = await scene(t);
  await change({ concurrent: 5 });
  const answer = await claim(8);
  assert.deepEqual([answer?.grants.length, answer?.blocked.length], [3, 1]);
  assert.equal(await active(), 5);
});

test('a limit that has become a rate holds for the very next claim', async (t) => {
  const { claim, change } = await scene(t);
  await change({ rate: { max: 1, window: '1h' } });
  assert.equal((await claim(8))?.grants.length, 1);
});

test('who finds its slot full only under the lock has granted no more than there is room for', async (t) => {
  const own = await scene(t);
  const answer = await overtaken(own, 'UPDATE slot SET active = 997');
  assert.deepEqual([answer?.grants.length, answer?.blocked.length], [3, 1]);
  assert.equal(await own.active(), 1000);
});

test('who finds its slot paused only under the lock grants nothing', async (t) => {
  const own = await scene(t);
  const answer = await overtaken(own, 'UPDATE slot SET paused_until = 9e15');
  assert.deepEqual([answer?.grants.length, answer?.blocked.length], [0, 1]);
  assert.equal(await own.active(), 2);
});

test('who finds its slot changed, but with room, is granted what it asked for', async (t) => {
  const own = await scene(t);
  const answer = await overtaken(own, 'UPDATE slot SET active = active + 900');
  assert.equal(answer?.grants.length, 8);
  assert.equal(await own.active(), 910);
});

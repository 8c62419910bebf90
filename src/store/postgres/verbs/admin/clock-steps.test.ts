import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../../../test/support/postgres.ts';
import { postgresContract, stopClock } from '../../../../../test/support/postgres-contract.ts';
import { realWorld } from '../../../../app/world.ts';
import { HOUR, MINUTE, Scene, TTL } from '../../../conformance/kit/scene.ts';
import { parkAll } from '../../../conformance/kit/turning.ts';
import { VirtualWorld } from '../../../conformance/kit/virtual-world.ts';
import type { DutyTenure } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import { openPostgres } from '../../open.ts';
import { type Statements, statements } from '../../statements.ts';
import { ClockSteps, followClock, type ServerLook } from './clock-steps.ts';

const BACK = 3 * HOUR;
const WAIT = 30 * MINUTE;
const TERM = { name: 'stager', epoch: 1 };

describe('what a holder of the stager sees', () => {
  const world = new VirtualWorld();
  const look = (now: number, moved = 0): ServerLook => ({ now, moved, mark: `at ${now}` });
  /** A look that takes 10 ms each way. */
  const follow = async (steps: ClockSteps, seen: ServerLook, term = TERM): Promise<number> => {
    const { step } = await steps.follow(term, async () => {
      world.elapse(20);
      return seen;
    });
    if (step !== undefined) assert.deepEqual(step.before, look(9_000_000));
    return step?.backMs ?? 0;
  };

  test('a step is seen until it is followed, counted from the last look before it', async () => {
    const steps = new ClockSteps(world.clock);
    assert.equal(await follow(steps, look(9_000_000)), 0);
    world.elapse(1000);
    assert.equal(await follow(steps, look(1_001_020)), 8_000_000 - 20);
    world.elapse(1000);
    assert.equal(await follow(steps, look(1_002_040)), 8_000_000 - 20, 'the correction has failed');
    assert.equal(await follow(steps, look(1_002_060, 8_000_000 - 20)), 0, 'it was made, though its answer was lost');
  });

  test('a new term begins anew', async () => {
    const steps = new ClockSteps(world.clock);
    await follow(steps, look(9_000_000));
    assert.equal(await follow(steps, look(1_000_000), { ...TERM, epoch: 2 }), 0);
  });
});

describe('a server whose clock is set back', () => {
  let ground: Awaited<ReturnType<typeof postgresContract>>;
  let scene: Scene;
  let texts: Statements;
  const clients: pg.Client[] = [];
  const url = freshDatabase('steps');

  beforeEach(async () => {
    ground ??= await postgresContract({ name: 'postgres', url: await url });
    const world = new VirtualWorld();
    const store = await ground.open({ world });
    texts = statements(`"${ground.schemaOf(store)}"`);
    scene = new Scene(store, world, {
      reopen: undefined,
      caller: undefined,
      pass: async (ms) => ground.pass?.(ms, store, { world }),
      setBack: async (ms) => ground.setBack?.(ms, store),
    });
  });
  afterEach(async () => {
    await scene.checkBooks();
    await scene.close();
    for (const client of clients.splice(0)) await client.end();
  });
  after(() => ground.admin.end());

  const stage = async (duty: DutyTenure): Promise<unknown> => scene.store.taskStage({ duty, limit: 10 });
  const dueIn = async (task: number): Promise<number> =>
    ((await scene.get(task)).runAt ?? Number.NaN) - scene.world.clock.wall();
  const isNear = (actual: number, expected: number): void =>
    assert.ok(actual <= expected && actual > expected - MINUTE, `${actual} is not ${expected}`);

  /** A connection of the test's own. */
  async function session(): Promise<Session> {
    const client = new pg.Client({
      connectionString: await url,
      types: { getTypeParser: () => (text: string) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text) } as never,
    });
    await client.connect();
    clients.push(client);
    const all = async <T>(text: string, values: readonly unknown[] = []): Promise<readonly T[]> =>
      (await client.query(text, values as unknown[])).rows as T[];
    return {
      rows: async (name, values) => (await all<object>(texts[name], values)).map((row) => Object.values(row)),
      all: (name, values) => all(texts[name], values),
      raw: all,
    };
  }

  const look = async (own: Session, duty: DutyTenure): Promise<ServerLook> =>
    (await own.all<ServerLook>('stageLook', [duty.name, duty.epoch]))[0] as ServerLook;

  test('what was written after the last look and before the clock was set is moved', async () => {
    const duty = await scene.duty('stager');
    const failed = await scene.running();
    const sleeper = await scene.running();
    await stage(duty);
    await scene.giveBack(failed, { delayMs: WAIT });
    await parkAll(scene.store, [{ key: 'k', timeoutMs: WAIT, task: sleeper.task, attempt: sleeper.attempt }]);
    const delayed = await scene.push({ delayMs: WAIT });
    const late = await scene.push({ queue: 'nobody', waitTimeoutMs: WAIT });
    await scene.setBack(BACK);
    await stage(duty);
    for (const task of [failed.task, sleeper.task, delayed]) isNear(await dueIn(task), WAIT);
    isNear(((await scene.get(late)).expiresAt as number) - scene.world.clock.wall(), WAIT);
  });

  test('a lease that was renewed by the new clock is never moved, however old its attempt is', async () => {
    const duty = await scene.duty('stager');
    await stage(duty);
    const { task, attempt } = await scene.running();
    await scene.setBack(BACK);
    await scene.store.leaseRenew({ items: [{ task, attempt, ttlMs: TTL }] });
    await stage(duty);
    assert.equal((await scene.overdue(10)).nextInMs, TTL);
  });

  test('a step is followed once, even if it is asked for twice', async () => {
    const duty = await scene.duty('stager');
    const task = await scene.push({ delayMs: WAIT });
    const own = await session();
    const before = await look(own, duty);
    await scene.setBack(BACK);
    for (let i = 0; i < 2; i++) {
      await own.raw('BEGIN');
      await followClock(own, duty, { backMs: BACK, before });
      await own.raw('COMMIT');
      assert.equal(await dueIn(task), WAIT);
    }
  });

  test('a holder that was deposed moves nothing', async () => {
    const duty = await scene.duty('stager');
    const task = await scene.push({ delayMs: WAIT });
    const own = await session();
    const before = await look(own, duty);
    await scene.store.dutyRelease({ duty });
    await scene.duty('stager');
    await scene.setBack(BACK);
    await assert.rejects(followClock(own, duty, { backMs: BACK, before }), { code: 'DUTY_LOST' });
    assert.equal(await dueIn(task), WAIT + BACK);
  });

  test('a row that another transaction writes meanwhile is judged by that', { timeout: 20_000 }, async () => {
    const duty = await scene.duty('stager');
    const [touched, left] = [await scene.push({ delayMs: WAIT }), await scene.push({ delayMs: WAIT })];
    const [own, other] = [await session(), await session()];
    await scene.pass(BACK - 1000);
    const before = await look(own, duty);
    await scene.setBack(BACK - 5000);
    await other.raw('BEGIN');
    await other.raw(`UPDATE ${ground.schemaOf(scene.store)}.task SET run_at = run_at + 1 WHERE id = $1`, [touched]);
    const due = await dueIn(left);
    await own.raw('BEGIN');
    const moved = followClock(own, duty, { backMs: MINUTE, before });
    await isBlocked(ground.admin);
    await other.raw('COMMIT');
    await moved;
    await own.raw('COMMIT');
    assert.deepEqual([await dueIn(touched), await dueIn(left)], [due + 1, due - MINUTE]);
  });

  test('duties, workers and nodes that are silent are given up no later', async () => {
    const duty = await scene.duty('stager');
    await scene.store.dutyTake({ name: 'reaper', holder: 'gone', ttlMs: 10_000 });
    await scene.worker();
    await stage(duty);
    await scene.setBack(BACK);
    await stage(duty);
    await scene.pass(10_001);
    const reaper = await scene.duty('reaper');
    await scene.pass(MINUTE);
    assert.equal((await scene.store.workerReap({ duty: reaper, staleMs: MINUTE })).length, 1);
  });
});

test('a term of a holder that vanished before the clock was set back is taken after a minute, one of a living holder is not', async () => {
  const base = realWorld();
  let later = 0;
  const world = { ...base, clock: { ...base.clock, monotonic: () => base.clock.monotonic() + later } };
  const store = await openPostgres({
    url: `${await freshDatabase('silent')}&schema=silent&pool=1`,
    world,
    // Set back by three hours since the terms were written.
    prepare: (connection, schema) => stopClock(connection, schema, 1_000_000_000),
  });
  try {
    const take = (name: string): Promise<DutyTenure | undefined> =>
      store.dutyTake({ name, holder: 'other', ttlMs: 6000 });
    await store.dutyTake({ name: 'gone', holder: 'gone', ttlMs: BACK + 6000 });
    const alive = await store.dutyTake({ name: 'alive', holder: 'alive', ttlMs: BACK + 6000 });
    assert.ok(alive);
    for (const name of ['gone', 'alive']) assert.equal(await take(name), undefined);
    later += 59_000;
    assert.equal(await store.dutyRenew({ duty: alive, ttlMs: 6000 }), true);
    for (const name of ['gone', 'alive']) assert.equal(await take(name), undefined);
    later += 1000;
    assert.equal(await take('alive'), undefined);
    // Candidates for the lead look before they take.
    const { now, duties } = await store.dutyList();
    assert.deepEqual(
      duties.map(({ name, until }) => [name, until]),
      [
        ['alive', now + 6000],
        ['gone', 0],
      ],
    );
    assert.equal((await take('gone'))?.epoch, 2);
    assert.equal(await take('gone'), undefined);
  } finally {
    await store.close();
  }
});

/** Waits until a transaction waits for another. */
async function isBlocked(admin: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await admin.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
    );
    if (rows.length > 0) return;
  }
}

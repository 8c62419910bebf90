import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { freshDatabase } from '../../../../test/support/postgres.ts';
import { scaled } from '../../../../test/support/scale.ts';
import { realWorld } from '../../../app/world.ts';
import { parseAddress } from '../connect/address.ts';
import { Connection } from '../connect/connection.ts';
import { openPostgres } from '../open.ts';
import type { PostgresStore } from '../store.ts';
import { MIGRATIONS, migrate, type PostgresMigration, SCHEMA_VERSION } from './migrate.ts';

/** A table of this size is migrated while others push, claim and settle on it. */
const ROWS = scaled(50_000, 1_000_000);
/** No query may wait longer than this for a lock that a migration holds or waits for. */
const MOST_MS = 100;

const COLUMN: PostgresMigration = { version: SCHEMA_VERSION + 1, file: 'column', compatibleFrom: 1 };
const INDEX: PostgresMigration = { version: SCHEMA_VERSION + 2, file: 'index', compatibleFrom: 1, apart: true };
const LATE: PostgresMigration = { version: SCHEMA_VERSION + 3, file: 'late', compatibleFrom: 1 };
const TEXTS: Readonly<Record<string, string>> = {
  column: 'ALTER TABLE task ADD COLUMN extra int',
  index: 'CREATE INDEX CONCURRENTLY task_extra ON {schema}.task (extra, created_at)',
  late: 'ALTER TABLE task ADD COLUMN late text',
};

const world = realWorld();
const url = await freshDatabase('load');
const { config, schema } = parseAddress(url);
const connect = (): Promise<Connection> => Connection.open(config, world, world.clock.monotonic() + 10_000);

let store: PostgresStore;
let migrator: Connection;

before(async () => {
  store = await openPostgres({ url, world, pool: 4 });
  migrator = await connect();
  await migrator.raw('SET statement_timeout = 0');
  // Scheduled for the far future, so that nothing claims them.
  await migrator.raw(`INSERT INTO ${schema}.task (created_at, run_at, queue, lane, spec, state, prio, max_tries, payload)
    SELECT 1, 9e12, 1000, 1000, 1000, 2, 0, 3, '{"n":' || i || '}' FROM generate_series(1, ${ROWS}) i`);
  await migrator.raw(`ANALYZE ${schema}.task`);
});

after(async () => {
  await migrator.close();
  await store.close();
});

/** A program of the version before the migrations, working in three loops at once. */
class Load {
  readonly #loops: readonly Promise<void>[];
  #over = false;
  rounds = 0;
  longestMs = 0;

  constructor(lane: number, spec: number, worker: number) {
    this.#loops = Array.from({ length: 3 }, () => this.#work(lane, spec, worker));
    // The error surfaces when the load is stopped. Nothing may wait for rounds of a loop that has ended.
    for (const loop of this.#loops) loop.catch(() => (this.rounds = Number.POSITIVE_INFINITY));
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#loops);
  }

  async #work(lane: number, spec: number, worker: number): Promise<void> {
    while (!this.#over) {
      const item = { lane, spec, priority: 0, maxTries: 3, payload: '{}' };
      await this.#time(store.taskPush({ items: Array.from({ length: 10 }, () => item) }));
      const claim = { holder: worker, max: 10, lanes: [{ lane, max: 10 }], ttlMs: 30_000 };
      const [answer] = await this.#time(store.taskClaim({ claims: [claim] }));
      const grants = answer?.grants ?? [];
      const ends = grants.map(({ task, attempt }) => ({ task, attempt, to: 'completed', reason: 'none' }) as const);
      const answers = ends.length === 0 ? [] : await this.#time(store.taskSettle({ items: ends }));
      assert.ok(answers.every((answer) => answer === 'done'));
      this.rounds++;
    }
  }

  async #time<T>(call: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const answer = await call;
    this.longestMs = Math.max(this.longestMs, performance.now() - startedAt);
    return answer;
  }
}

async function startLoad(): Promise<Load> {
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'load', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const worker = await store.workerRegister({ name: 'w', incarnation: crypto.randomUUID(), slots: 8, tags: [] });
  const load = new Load(lane?.id ?? 0, spec ?? 0, worker);
  await until(() => load.rounds > 20);
  return load;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await wait(5);
}

/** Polls which queries wait for a lock on our tables because of the migration, and for how long. */
class Watch {
  readonly #looking: Promise<void>;
  #over = false;
  looks = 0;
  longestMs = 0;

  constructor() {
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#looking;
  }

  async #look(): Promise<void> {
    const connection = await connect();
    // The migration itself may wait. What counts are queries that wait for it or behind it.
    const sql = `SELECT max(extract(epoch FROM clock_timestamp() - l.waitstart) * 1000) AS ms FROM pg_locks l
      JOIN pg_class c ON c.oid = l.relation AND c.relnamespace = '${schema}'::regnamespace
      WHERE NOT l.granted AND l.pid <> ${migrator.pid} AND ${migrator.pid} = ANY(pg_blocking_pids(l.pid))`;
    while (!this.#over) {
      const [row] = await connection.all<{ ms: number | null }>(undefined, sql, []);
      this.longestMs = Math.max(this.longestMs, row?.ms ?? 0);
      this.looks++;
      await wait(2);
    }
    await connection.close();
  }
}

/** Runs work under load, and measures the waits. */
async function measured(t: TestContext, work: (load: Load) => Promise<void>): Promise<void> {
  const load = await startLoad();
  load.longestMs = 0;
  const watch = new Watch();
  await until(() => watch.looks > 5);
  const [rounds, startedAt] = [load.rounds, performance.now()];
  try {
    await work(load);
  } finally {
    const [done, tookMs] = [load.rounds - rounds, performance.now() - startedAt];
    await watch.stop();
    await load.stop();
    t.diagnostic(
      `${ROWS} rows, ${Math.round(tookMs)} ms, ${done} rounds of push, claim and settle beside it; longest call ` +
        `${Math.round(load.longestMs)} ms, longest wait for the migration ${Math.round(watch.longestMs)} ms in ${watch.looks} looks`,
    );
  }
  assert.ok(watch.longestMs <= MOST_MS, `somebody waited ${watch.longestMs} ms for the migration`);
}

function run(migrations: readonly PostgresMigration[], onPause = (): void => {}): Promise<void> {
  return migrate({
    connection: migrator,
    connect,
    schema,
    migrations: [...MIGRATIONS, ...migrations],
    read: ({ file }) => TEXTS[file] ?? '',
    pause: (ms) => {
      onPause();
      return wait(ms);
    },
  });
}

test('a column comes while others work on the table', (t) => measured(t, () => run([COLUMN])));

test('an index is made while others work on the table', (t) => measured(t, () => run([COLUMN, INDEX])));

test('a migration that cannot have its lock holds up nobody, and runs when it can', async (t) => {
  const reader = await connect();
  await reader.raw('SET idle_in_transaction_session_timeout = 0; BEGIN');
  await reader.raw(`SELECT FROM ${schema}.task LIMIT 1`);
  await measured(t, async (load) => {
    let pauses = 0;
    const running = run([COLUMN, INDEX, LATE], () => pauses++);
    let ended = false;
    void running.then(() => {
      ended = true;
    });
    await until(() => pauses >= 5);
    const rounds = load.rounds;
    await until(() => pauses >= 10);
    assert.ok(load.rounds > rounds, 'the others go on');
    assert.equal(ended, false);
    await reader.raw('COMMIT');
    await running;
  });
  await reader.close();
});

test('processes of both versions work beside each other', async () => {
  const rows = await migrator.all<{ value: string }>(
    undefined,
    `SELECT value FROM ${schema}.meta WHERE key IN ('schema', 'compatible_from') ORDER BY key`,
    [],
  );
  assert.deepEqual(
    rows.map(({ value }) => Number(value)),
    [1, SCHEMA_VERSION + 3],
  );
  const load = await startLoad();
  // A newer program writes what the older one does not know, and the older one opens the store again.
  await migrator.raw(
    `UPDATE ${schema}.task SET extra = 1, late = 'x' WHERE id IN (SELECT id FROM ${schema}.task LIMIT 100)`,
  );
  const old = await openPostgres({ url, world, pool: 1 });
  assert.equal((await old.queueStats({ queue: 'load' }))?.failed, 0);
  await old.close();
  const { rounds } = load;
  await until(() => load.rounds > rounds + 10);
  await load.stop();
});

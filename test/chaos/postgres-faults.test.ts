/** What befalls a database while clients push and workers work: it is restarted, sessions are cut off, rows are held. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { full, scaled } from '../support/scale.ts';
import { describeFarm, type FarmOptions, type FarmReport, runFarm, type Troubled } from './farm/farm.ts';
import { onPostgres } from './ground.ts';
import { Relay } from './remote/relay.ts';
import { until } from './survivors.ts';

/** Longer than a restart takes on a busy machine: nobody may lose a lease because the database was away for a moment. */
const LEASE_MS = 8000;
const SEED = Number.parseInt(process.env['LEASEHOLD_SEED'] ?? '', 10) || 1;
/** Whoever ends here ends because of the database. */
const KILLERS = ['killer', 'shielded-killer', 'child-killer', 'shell', 'shell-fails'];

console.log(`LEASEHOLD_SEED=${SEED}`);

type Fault = Pick<FarmOptions, 'tasks' | 'duties'> & {
  readonly leaseMs?: number;
  readonly without?: readonly string[];
  /** What the address says beyond the database. */
  readonly more?: string;
  readonly trouble: (farm: Troubled, ground: Stricken) => Promise<void>;
};

interface Stricken {
  readonly server: PostgresServer;
  /** All processes of the run come through here. */
  readonly relay: Relay;
}

async function withstand(t: TestContext, { more = '', trouble, without = [], ...options }: Fault): Promise<FarmReport> {
  const server = await startPostgres();
  t.after(() => server.stop());
  const database = server.url('postgres');
  const relay = await Relay.before(t, database);
  const report = await runFarm({
    leaseMs: LEASE_MS,
    ...options,
    store: { ...onPostgres(database), url: `${relay.url}${more}` },
    seed: SEED,
    kills: 0,
    gapMs: 0,
    patienceMs: 100_000,
    without: [...KILLERS, ...without],
    ops: false,
    roles: ['inline', 'inline', 'inline', 'apart'],
    trouble: (farm) => trouble(farm, { server, relay }),
  });
  t.diagnostic(describeFarm(report));
  assert.deepEqual(report.violations, []);
  assert.deepEqual(report.orphans, []);
  assert.deepEqual(report.complaints, [], 'no process says more than it should');
  assert.equal(report.acknowledged, options.tasks, 'every push was acknowledged, without an operation id');
  assert.equal(report.gates.reaped, 0, 'nobody lost a lease');
  return report;
}

/** A client of the suite's own, which is told apart from those under test by its name. */
async function asAdmin<T>(server: PostgresServer, body: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: server.url('postgres'), application_name: 'admin' });
  await admin.connect();
  try {
    return await body(admin);
  } finally {
    await admin.end();
  }
}

/** So many rounds of trouble, with work that goes on through all of them: what is idle is not hurt. */
async function inRounds(farm: Troubled, rounds: number, body: () => Promise<void>): Promise<void> {
  let usualMs = 2500;
  let done = 0;
  let began = performance.now();
  const flow = setInterval(() => {
    const part = Math.min(1, (performance.now() - began) / usualMs);
    farm.allow(0.1 + (0.9 * (done + part)) / rounds);
  }, 40);
  try {
    for (; done < rounds; done++) {
      began = performance.now();
      await body();
      usualMs = performance.now() - began;
    }
  } finally {
    clearInterval(flow);
  }
}

for (const duties of ['keeper', 'workers'] as const) {
  const most = duties === 'keeper';
  test(`a server that is restarted at once, every two seconds, loses nothing and repeats nothing (duties: ${duties})`, async (t) => {
    const restarts = most ? scaled(3, 30) : scaled(0, 10);
    if (restarts === 0) return t.skip('at full scale only');
    const took: number[] = [];
    const { calls } = await withstand(t, {
      tasks: most ? scaled(200, 10_000) : 2000,
      duties,
      more: '&pool=2',
      trouble: async (farm, { server }) => {
        await farm.working();
        await inRounds(farm, restarts, async () => {
          await pause(2000);
          const began = performance.now();
          await server.restart();
          took.push(performance.now() - began);
        });
      },
    });
    t.diagnostic(`${restarts} restarts, away for ${took.map(Math.round).join(', ')} ms`);
    assert.ok(Object.keys(calls.failed).length > 0, 'the processes noticed');
  });
}

test('a database that is away for longer than a lease costs no task a try', async (t) => {
  const outages = scaled(0, 6);
  if (outages === 0) return t.skip('at full scale only; worker.test.ts has the rule');
  const took: number[] = [];
  await withstand(t, {
    tasks: 3000,
    duties: 'keeper',
    leaseMs: 3000,
    // A log is not waited for without end (logs.ts).
    without: ['chatty'],
    trouble: async (farm, { relay }) => {
      await farm.working();
      await inRounds(farm, outages, async () => {
        await pause(1500);
        relay.cut();
        // From a lease to what a call waits for at most, nearly.
        const ms = 4000 + (took.length * 8000) / (outages - 1);
        await pause(ms);
        relay.mend();
        took.push(ms);
        await pause(1500);
      });
    },
  });
  t.diagnostic(`${outages} outages of ${took.map(Math.round).join(', ')} ms`);
});

test('sessions that are cut off at random lose nothing and repeat nothing', async (t) => {
  const cuts = scaled(10, 150);
  const { calls } = await withstand(t, {
    tasks: scaled(200, 5000),
    duties: 'workers',
    trouble: async (farm, { server }) => {
      await farm.working();
      await asAdmin(server, (admin) =>
        inRounds(farm, cuts, async () => {
          await pause(100 + 100 * Math.random());
          await until(async () => (await admin.query(BUSY)).rowCount !== 0, 500);
          await until(async () => (await admin.query<{ gone: boolean }>(CUT)).rows[0]?.gone === true, 5000);
        }),
      );
    },
  });
  t.diagnostic(`${cuts} sessions were cut off`);
  assert.ok((calls.failed['query: 57P01'] ?? 0) > 0 || !full, 'some were at work');
});

test('a session that holds a snapshot and some rows for half a minute keeps nobody from the rest', async (t) => {
  const holdMs = scaled(2000, 30_000);
  let held = 0;
  await withstand(t, {
    tasks: scaled(200, 5000),
    duties: 'keeper',
    more: '&pool=2',
    trouble: (farm, { server }) =>
      asAdmin(server, async (admin) => {
        await farm.working();
        farm.allow(0.2);
        const began = performance.now();
        held = await hold(admin);
        await inRounds(farm, 20, () => pause(holdMs / 24));
        await pause(Math.max(0, holdMs - (performance.now() - began)));
        // All the others come to their ends before these are let go.
        const others = await until(async () => (await asAdmin(server, unfinished)) <= held, 60_000);
        assert.ok(others !== undefined, 'the others have ended');
        await admin.query('ROLLBACK');
      }),
  });
  t.diagnostic(`${held} tasks were held for ${holdMs} ms`);
});

/** Takes a few tasks that are ready, and for which nobody waits, in a snapshot that stays. */
async function hold(admin: pg.Client): Promise<number> {
  for (;;) {
    await admin.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const taken = await admin
      .query(
        `SELECT t.id FROM leasehold.task t JOIN leasehold.lane l ON l.id = t.lane WHERE t.state = 0
          AND l.handler NOT IN ('node', 'bad-node', 'offspring') ORDER BY t.id DESC LIMIT 3 FOR UPDATE OF t SKIP LOCKED`,
      )
      .catch(claimedMeanwhile);
    if (taken !== undefined && (taken.rowCount ?? 0) > 0) return taken.rowCount as number;
    await admin.query('ROLLBACK');
  }
}

/** A worker has claimed one of them after the snapshot was taken: the next one has others. */
function claimedMeanwhile(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== '40001') throw error;
}

const BUSY = "SELECT FROM pg_stat_activity WHERE application_name = 'leasehold' AND state = 'active'";
/** Rather one that is at work: what is cut off while it rests is only opened again. */
const CUT = `SELECT pg_terminate_backend(pid) AS gone FROM (SELECT pid FROM pg_stat_activity
  WHERE application_name = 'leasehold' ORDER BY state = 'active' DESC, random() LIMIT 1) x`;

async function unfinished(admin: pg.Client): Promise<number> {
  const { rows } = await admin.query('SELECT count(*)::int AS n FROM leasehold.task');
  return (rows[0] as { n: number }).n;
}

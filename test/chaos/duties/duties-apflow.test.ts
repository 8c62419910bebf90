/**
 * The leader election of the design "Distributed Core", with its own statements, on a real Postgres: it elects two leaders,
 * in three ways. Then the same schedules on our duties, where the second one is refused.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { realWorld } from '../../../src/app/world.ts';
import { isEngineError } from '../../../src/core/errors.ts';
import { openPostgres } from '../../../src/store/postgres/open.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import type { DutyTenure, DutyTerm } from '../../../src/store/store.ts';
import { freshDatabase } from '../../support/postgres.ts';

/** As written there; only `:name` became `$n`. */
const THEIRS = {
  table: `CREATE TABLE cluster_leader(
   leader_id TEXT PRIMARY KEY,
   lease_token TEXT UNIQUE,
   acquired_at TIMESTAMP,
   expires_at TIMESTAMP
 )`,
  acquire: `INSERT INTO cluster_leader (leader_id, lease_token, acquired_at, expires_at)
VALUES ($1, $2, NOW(), NOW() + INTERVAL '30 seconds')
ON CONFLICT (leader_id) DO NOTHING`,
  renew: `UPDATE cluster_leader
SET expires_at = NOW() + INTERVAL '30 seconds'
WHERE leader_id = $1 AND lease_token = $2`,
  dropStale: 'DELETE FROM cluster_leader WHERE expires_at < NOW()',
} as const;

const TERM_MS = 30_000;
const SCHEMA = 'ours';

/** A node as the document has it: it leads when its insert took, and as long as its renewals do. */
class TheirNode {
  readonly name: string;
  readonly #client: pg.Client;

  constructor(name: string, client: pg.Client) {
    this.name = name;
    this.#client = client;
  }

  /** "Acquire leadership (atomic)": the first successful insert wins. */
  async acquire(): Promise<boolean> {
    return this.#took(await this.#client.query(THEIRS.acquire, this.#names));
  }

  /** "Acquire when stale": first this, "then attempt acquire again". */
  async dropStale(): Promise<void> {
    await this.#client.query(THEIRS.dropStale);
  }

  /** "Leadership remains exclusive as long as lease renewal succeeds." */
  async renew(): Promise<boolean> {
    return this.#took(await this.#client.query(THEIRS.renew, this.#names));
  }

  get #names(): [string, string] {
    return [this.name, `token of ${this.name}`];
  }

  #took({ rowCount }: pg.QueryResult): boolean {
    return rowCount === 1;
  }
}

interface Scene {
  readonly nodes: readonly [TheirNode, TheirNode, TheirNode];
  /** How many leaders whose time is not over the table holds. */
  readonly leaders: () => Promise<number>;
  readonly stores: readonly [PostgresStore, PostgresStore, PostgresStore];
  /** Our duty's row, as it lies there. */
  readonly duty: () => Promise<{ readonly holder: string; readonly epoch: number } | undefined>;
  /** So much time passes for every term: their times move back instead of the clock forth. */
  readonly pass: (ms: number) => Promise<void>;
}

async function scene(t: TestContext): Promise<Scene> {
  const url = await freshDatabase('document');
  const client = async (): Promise<pg.Client> => {
    const one = new pg.Client({ connectionString: url });
    await one.connect();
    t.after(() => one.end());
    return one;
  };
  const store = async (): Promise<PostgresStore> => {
    const one = await openPostgres({ url: `${url}&schema=${SCHEMA}&pool=2`, world: realWorld() });
    t.after(() => one.close());
    return one;
  };
  const admin = await client();
  await admin.query(THEIRS.table);
  const stores = [await store(), await store(), await store()] as const;
  const node = async (name: string): Promise<TheirNode> => new TheirNode(name, await client());
  return {
    nodes: [await node('a'), await node('b'), await node('c')],
    leaders: async () => {
      const { rows } = await admin.query('SELECT count(*)::int AS n FROM cluster_leader WHERE expires_at >= NOW()');
      return rows[0].n;
    },
    stores,
    duty: async () => {
      const { rows } = await admin.query(`SELECT holder, epoch::int FROM ${SCHEMA}.duty WHERE name = 'stager'`);
      return rows[0];
    },
    pass: async (ms) => {
      await admin.query('UPDATE cluster_leader SET expires_at = expires_at - make_interval(secs => $1)', [ms / 1000]);
      await admin.query(`UPDATE ${SCHEMA}.duty SET until = until - $1`, [ms]);
    },
  };
}

const take = (store: PostgresStore, holder: string): Promise<DutyTenure | undefined> =>
  store.dutyTake({ name: 'stager', holder, ttlMs: TERM_MS });

/** One write that only the holder may do: answered, or refused as deposed. */
async function write(store: PostgresStore, duty: DutyTerm): Promise<'done' | 'DUTY_LOST'> {
  try {
    await store.taskStage({ duty, limit: 10 });
    return 'done';
  } catch (error) {
    if (isEngineError(error, 'DUTY_LOST')) return error.code as 'DUTY_LOST';
    throw error;
  }
}

test('by the document two nodes that start lead at the same time; of ours the second is refused', async (t) => {
  const { nodes, leaders, stores, duty } = await scene(t);
  const [a, b] = nodes;
  // The key is the node's own name, so a node conflicts with nobody but itself.
  assert.equal(await a.acquire(), true);
  assert.equal(await b.acquire(), true);
  assert.equal(await leaders(), 2, 'the hole is not there any more?');
  assert.deepEqual(await Promise.all([a.renew(), b.renew()]), [true, true], 'and it stays so, renewal after renewal');
  assert.equal(await leaders(), 2);

  const first = await take(stores[0], 'a');
  assert.equal(first?.epoch, 1);
  assert.equal(await take(stores[1], 'b'), undefined);
  assert.deepEqual(await duty(), { holder: 'a', epoch: 1 });
  assert.equal(await stores[0].dutyRenew({ duty: first, ttlMs: TERM_MS }), true);
  // Not even one that invents a term gets anything written.
  for (const epoch of [0, 2]) {
    const forged = { name: 'stager', epoch };
    assert.equal(await stores[1].dutyRenew({ duty: forged, ttlMs: TERM_MS }), false);
    assert.equal(await write(stores[1], forged), 'DUTY_LOST');
  }
  assert.equal(await write(stores[0], first), 'done');
});

test('by the document two nodes that find a stale leader both replace it; of ours exactly one does', async (t) => {
  const { nodes, leaders, stores, duty, pass } = await scene(t);
  const [a, b, c] = nodes;
  assert.equal(await a.acquire(), true);
  const first = await take(stores[0], 'a');
  assert.ok(first);
  await pass(TERM_MS + 1000);
  assert.equal(await leaders(), 0);
  await Promise.all([b.dropStale(), c.dropStale()]);
  assert.deepEqual(await Promise.all([b.acquire(), c.acquire()]), [true, true]);
  assert.equal(await leaders(), 2, 'the hole is not there any more?');

  const taken = await Promise.all([take(stores[1], 'b'), take(stores[2], 'c')]);
  assert.deepEqual(
    taken.map((term) => term?.epoch).toSorted((x = 0, y = 0) => x - y),
    [2, undefined],
  );
  assert.deepEqual(await duty(), { holder: taken[0] === undefined ? 'c' : 'b', epoch: 2 });
  assert.equal(await write(stores[0], first), 'DUTY_LOST');
});

test('by the document a leader that slept over its term renews it beside its successor; ours is refused everything', async (t) => {
  const { nodes, leaders, stores, duty, pass } = await scene(t);
  const [a, b] = nodes;
  assert.equal(await a.acquire(), true);
  const slept = await take(stores[0], 'a');
  assert.ok(slept);
  await pass(TERM_MS + 1000);
  // The successor takes over, by the insert alone, as "all nodes can attempt leadership periodically after lease expiry".
  assert.equal(await b.acquire(), true);
  assert.equal(await leaders(), 1);
  assert.equal(await a.renew(), true, 'the renewal does not ask whether the term is over');
  assert.equal(await leaders(), 2, 'the hole is not there any more?');

  const successor = await take(stores[1], 'b');
  assert.deepEqual([successor?.epoch, successor?.vacant], [2, false]);
  assert.equal(await stores[0].dutyRenew({ duty: slept, ttlMs: TERM_MS }), false);
  assert.equal(await write(stores[0], slept), 'DUTY_LOST');
  await stores[0].dutyRelease({ duty: slept });
  assert.deepEqual(await duty(), { holder: 'b', epoch: 2 }, 'what was released was another term');
  assert.equal(await take(stores[0], 'a'), undefined);
  assert.equal(await write(stores[1], successor as DutyTenure), 'done');
});

test('a term that is over cannot be renewed, also when nobody else has taken the duty', async (t) => {
  const { nodes, stores, pass } = await scene(t);
  const [a] = nodes;
  assert.equal(await a.acquire(), true);
  const term = await take(stores[0], 'a');
  assert.ok(term);
  await pass(TERM_MS + 1000);
  assert.equal(await a.renew(), true, 'by the document it can');
  assert.equal(await stores[0].dutyRenew({ duty: term, ttlMs: TERM_MS }), false);
  assert.equal(
    (await take(stores[0], 'a'))?.epoch,
    2,
    'it takes a new one, and its old writes are refused from then on',
  );
  assert.equal(await write(stores[0], term), 'DUTY_LOST');
});

test('a takeover waits for a write of the old term that is under way, and none comes after it', async (t) => {
  const { stores, pass } = await scene(t);
  const old = await take(stores[0], 'a');
  assert.ok(old);
  await pass(TERM_MS + 1000);
  for (let round = 0; round < 20; round++) {
    const writes: Promise<'done' | 'DUTY_LOST'>[] = Array.from({ length: 6 }, () => write(stores[0], old));
    const taken = round === 10 ? await take(stores[1], 'b') : undefined;
    const after = await Promise.all(writes);
    if (round < 10) assert.deepEqual(new Set(after), new Set(['done']));
    if (round === 10) assert.equal(taken?.epoch, 2);
    if (round > 10) assert.deepEqual(new Set(after), new Set(['DUTY_LOST']));
  }
});

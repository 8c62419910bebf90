import { DEFAULT_STALE_MS } from '../../core/placement/worker.ts';
import type { Clock } from '../../core/world.ts';
import { parseAddress, SETTINGS } from '../../store/postgres/connect/address.ts';
import type { Connection } from '../../store/postgres/connect/connection.ts';
import { translate } from '../../store/postgres/connect/errors.ts';
import { openSession } from '../../store/postgres/connect/open-session.ts';
import { SCHEMA_VERSION, schemaStatus } from '../../store/postgres/migrate/migrate.ts';
import { MIN_VERSION } from '../../store/postgres/open.ts';
import { withoutPassword } from '../store-name.ts';
import { realWorld } from '../world.ts';
import { judgeDuties, judgeLeases, judgeSchema, judgeWorkers, STUCK_MS } from './data.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { judgeWrites } from './probe.ts';
import { type AskingRow, type CarrierRow, judgeRequirements } from './requirements.ts';

/** The database, and how this user and this connection reach it. */
interface DatabaseSnapshot {
  readonly connection: Connection;
  /** Quoted, for use in a statement. */
  readonly schema: string;
  readonly pooled: boolean;
  readonly clock: Clock;
}

/** While a transaction is open for longer, nothing that was removed since can be vacuumed. */
const OLD_MS = 5 * 60_000;
const SKEW_MS = 2000;
const OPEN_MS = 15_000;
/** Events get their numbers within milliseconds while the sequencer runs. */
const BACKLOG_MS = 10_000;
const MANY_DEAD = 100_000;

/** Examines a store in Postgres, one finding at a time. Makes no tables, migrates none and changes nothing in them. */
export async function* examinePostgres(url: string, artifactStore?: string): AsyncGenerator<Finding> {
  const world = realWorld();
  let connection: Connection | undefined;
  try {
    const parsed = parseAddress(url);
    const { connection: reached, address } = await openSession(parsed, world, world.clock.monotonic() + OPEN_MS);
    connection = reached;
    const { schema, pooled } = address;
    const noticed = pooled && !parsed.pooled ? ', through a pooler that the address does not mention' : '';
    yield ok('store', `${withoutPassword(url)} answers${noticed}`);
    yield* look({ connection, schema, pooled, clock: world.clock }, artifactStore);
  } catch (error) {
    const { message, hint = '' } = translate(error, withoutPassword(url));
    yield fail(connection === undefined ? 'store' : 'look', message, hint);
  } finally {
    await connection?.close();
  }
}

async function* look(snapshot: DatabaseSnapshot, artifactStore: string | undefined): AsyncGenerator<Finding> {
  const version = await checkVersion(snapshot);
  yield version;
  if (version.verdict === 'fail') return;
  yield await checkPrimary(snapshot);
  yield await checkDurability(snapshot);
  yield await checkSettings(snapshot);
  yield await checkClock(snapshot);
  yield await checkConnections(snapshot);
  yield await checkTransactions(snapshot);
  yield await checkNotices(snapshot);
  const schema = await checkSchema(snapshot);
  yield schema;
  // A database without a store, or with one that this program does not understand, has nothing more to check.
  if (schema.verdict === 'fail') return;
  const rights = await checkRights(snapshot);
  yield rights;
  if (rights.verdict === 'fail') return;
  yield await checkVacuum(snapshot);
  yield await checkEvents(snapshot);
  yield await checkDuties(snapshot);
  yield await checkLeases(snapshot);
  yield await checkWorkers(snapshot);
  yield await checkRequirements(snapshot);
  yield await checkArtifacts(snapshot, artifactStore);
  yield await probe(snapshot);
}

async function one<T>(
  { connection, schema }: DatabaseSnapshot,
  sql: string,
  values: readonly unknown[] = [],
): Promise<T> {
  return (await connection.all<T>(undefined, sql.replaceAll('{s}', schema), values))[0] as T;
}

async function all<T>({ connection, schema }: DatabaseSnapshot, sql: string): Promise<readonly T[]> {
  return connection.all<T>(undefined, sql.replaceAll('{s}', schema), []);
}

async function checkVersion(snapshot: DatabaseSnapshot): Promise<Finding> {
  const row = await one<{ number: string; version: string }>(
    snapshot,
    "SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS version",
  );
  if (Number(row.number) >= MIN_VERSION * 10_000) return ok('postgres', `Postgres ${row.version}`);
  return fail(
    'postgres',
    `Postgres ${row.version} is too old`,
    `Upgrade the server to Postgres ${MIN_VERSION} or newer.`,
  );
}

async function checkPrimary(snapshot: DatabaseSnapshot): Promise<Finding> {
  const row = await one<{ standby: boolean; readonly: string }>(
    snapshot,
    "SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') AS readonly",
  );
  const todo = 'Give the address of the primary.';
  if (row.standby) return fail('primary', 'the address leads to a standby, which takes no writes', todo);
  if (row.readonly === 'on')
    return fail(
      'primary',
      'transactions of this user are read-only',
      'Look for default_transaction_read_only, of the server, the database or the role.',
    );
  return ok('primary', 'it takes writes');
}

async function checkDurability(snapshot: DatabaseSnapshot): Promise<Finding> {
  const row = await one<{ fsync: string; commit: string; pages: string }>(
    snapshot,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
      current_setting('full_page_writes') AS pages`,
  );
  const off = [
    ...(row.fsync === 'off' ? ['fsync'] : []),
    ...(row.commit === 'off' ? ['synchronous_commit'] : []),
    ...(row.pages === 'off' ? ['full_page_writes'] : []),
  ];
  if (off.length === 0) return ok('durability', 'acknowledged writes survive a crash of the server');
  return warn(
    'durability',
    `${off.join(' and ')} ${off.length === 1 ? 'is' : 'are'} off: a crash of the server may lose acknowledged writes`,
    'Turn it on, unless the work may be lost.',
  );
}

/** These settings pin the plans; a pooler may have dropped them on the way. */
async function checkSettings(snapshot: DatabaseSnapshot): Promise<Finding> {
  const names = Object.keys(SETTINGS);
  const list = names.map((name) => `'${name}'`).join(', ');
  const rows = await all<{ name: string; value: string }>(
    snapshot,
    `SELECT name, current_setting(name) AS value FROM pg_settings WHERE name IN (${list})`,
  );
  const { role } = await one<{ role: string }>(snapshot, 'SELECT quote_ident(current_user) AS role');
  return judgeSettings(new Map(rows.map(({ name, value }) => [name, value])), role, snapshot.pooled);
}

export function judgeSettings(values: ReadonlyMap<string, string>, role: string, pooled: boolean): Finding {
  const wrong = Object.entries(SETTINGS).filter(([name, wanted]) => {
    const value = values.get(name) ?? '';
    // Any bound will do for timeouts.
    return name.endsWith('_timeout') ? value === '0' || value === '' : value !== wanted;
  });
  if (wrong.length === 0) return ok('settings', 'the planner is set up as the statements need it');
  const sets = wrong.map(([name, wanted]) => `ALTER ROLE ${role} SET ${name} = '${wanted}';`).join(' ');
  const why = pooled
    ? 'behind a pooler the role must bring them'
    : 'they were sent and did not arrive: is there a pooler in between?';
  const more = pooled ? '' : ' And add pooler=transaction to the address, if it is a pooler in transaction mode.';
  return warn('settings', `${wrong.map(([name]) => name).join(', ')}: ${why}`, `${sets}${more}`);
}

async function checkClock(snapshot: DatabaseSnapshot): Promise<Finding> {
  const { clock } = snapshot;
  let best: { readonly skew: number; readonly took: number } | undefined;
  for (let i = 0; i < 3; i++) {
    const before = clock.wall();
    const row = await one<{ now: number }>(
      snapshot,
      "SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now",
    );
    const after = clock.wall();
    const look = { skew: row.now - (before + after) / 2, took: after - before };
    if (best === undefined || look.took < best.took) best = look;
  }
  return judgeSkew(best?.skew ?? 0, best?.took ?? 0);
}

export function judgeSkew(skew: number, took: number): Finding {
  const apart = Math.abs(skew);
  if (apart <= SKEW_MS + took / 2) return ok('clock', `agrees with the server's to ${Math.round(apart)} ms`);
  const where = skew > 0 ? 'behind' : 'ahead of';
  return warn(
    'clock',
    `this host is ${(apart / 1000).toFixed(1)} s ${where} the server`,
    'Let both be kept by NTP. Leases, delays and schedules go by the server; times in logs by this host.',
  );
}

async function checkConnections(snapshot: DatabaseSnapshot): Promise<Finding> {
  const row = await one<{ used: number; most: number; ours: number }>(
    snapshot,
    `SELECT count(*) AS used, count(*) FILTER (WHERE application_name = 'leasehold') AS ours,
        (SELECT least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
          CASE WHEN r.rolconnlimit < 0 THEN NULL ELSE r.rolconnlimit END,
          CASE WHEN d.datconnlimit < 0 THEN NULL ELSE d.datconnlimit END)
          FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()) AS most
      FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  );
  return judgeConnections(row);
}

export function judgeConnections(row: {
  readonly used: number;
  readonly most: number;
  readonly ours: number;
}): Finding {
  const { used, most, ours } = row;
  const says = `${used} of ${most} are in use, ${ours} of them by leasehold`;
  const todo =
    'A process takes up to 9: a pool of 6, a listener, and two for leases. Lower it (&pool=3), raise max_connections, or use a pooler.';
  if (used >= 0.95 * most) return fail('connections', says, todo);
  return used >= 0.8 * most ? warn('connections', says, todo) : ok('connections', says);
}

async function checkTransactions(snapshot: DatabaseSnapshot): Promise<Finding> {
  const row = await one<OldTransaction | undefined>(
    snapshot,
    `SELECT who, pid, ms FROM (
        SELECT coalesce(nullif(application_name, ''), usename, 'a session') || ' (' || coalesce(state, '?') || ')' AS who, pid,
          extract(epoch FROM clock_timestamp() - xact_start) * 1000 AS ms
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
        UNION ALL
        SELECT 'prepared transaction ' || gid, NULL, extract(epoch FROM clock_timestamp() - prepared) * 1000
        FROM pg_prepared_xacts WHERE database = current_database()
      ) t ORDER BY ms DESC LIMIT 1`,
  );
  return judgeTransactions(row);
}

interface OldTransaction {
  readonly who: string;
  readonly pid: number | null;
  readonly ms: number;
}

export function judgeTransactions(oldest: OldTransaction | undefined): Finding {
  const check = 'transactions';
  if (oldest === undefined || oldest.ms < 1000) return ok(check, 'none is open for longer than a second');
  const { who, pid, ms } = oldest;
  const says = `the oldest is open for ${formatAge(ms)}: ${who}${pid === null ? '' : `, pid ${pid}`}`;
  if (ms < OLD_MS) return ok(check, says);
  const end = pid === null ? "ROLLBACK PREPARED 'ITS NAME'" : `SELECT pg_terminate_backend(${pid})`;
  return warn(
    check,
    `${says}; nothing that was removed since can be cleared away, and claims become slower`,
    `End it if nobody needs it: ${end}. Run long reports and dumps on a standby.`,
  );
}

async function checkNotices(snapshot: DatabaseSnapshot): Promise<Finding> {
  const { used } = await one<{ used: number }>(snapshot, 'SELECT pg_notification_queue_usage() AS used');
  return judgeNotices(Number(used));
}

export function judgeNotices(used: number): Finding {
  const says = `the queue of notifications is ${(100 * used).toFixed(used < 0.01 ? 0 : 1)} % full`;
  const todo =
    'A session that listens does not read: look in pg_stat_activity for one that is idle in transaction, and end it. When the queue is full, commits fail.';
  if (used >= 0.5) return fail('notices', says, todo);
  return used >= 0.1 ? warn('notices', says, todo) : ok('notices', says);
}

async function checkSchema({ connection, schema }: DatabaseSnapshot): Promise<Finding> {
  const { version, compatibleFrom } = await schemaStatus(connection, schema);
  if (version > 0) return judgeSchema(version, compatibleFrom, SCHEMA_VERSION);
  return fail(
    'schema',
    `there are no tables of leasehold in the schema ${schema}`,
    '"leasehold up", "leasehold push" and "leasehold migrate" make them; ?schema=NAME in the address names another schema.',
  );
}

async function checkRights(snapshot: DatabaseSnapshot): Promise<Finding> {
  const tables = await all<{ name: string; lacks: string }>(
    snapshot,
    `SELECT c.relname AS name, CASE WHEN c.relkind = 'S' THEN 'USAGE' ELSE 'SELECT, INSERT, UPDATE, DELETE' END AS lacks
      FROM pg_class c WHERE c.relnamespace = '{s}'::regnamespace AND c.relkind IN ('r', 'p', 'S') AND NOT c.relispartition
        AND NOT CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'USAGE')
          ELSE has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
            AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') END
      ORDER BY 1`,
  );
  const row = await one<{ role: string; usage: boolean; create: boolean; owner: boolean; owned: string }>(
    snapshot,
    `SELECT quote_ident(current_user) AS role, has_schema_privilege('{s}'::regnamespace, 'USAGE') AS usage,
        has_schema_privilege('{s}'::regnamespace, 'CREATE') AS create,
        coalesce(pg_has_role(c.relowner, 'MEMBER'), false) AS owner, quote_ident(pg_get_userbyid(c.relowner)) AS owned
      FROM pg_class c WHERE c.oid = to_regclass('{s}.done')`,
  );
  const { schema } = snapshot;
  if (!row.usage || tables.length > 0) {
    const what = tables.map(({ name }) => name).join(', ') || `the schema ${schema}`;
    return fail(
      'rights',
      `this user may not use ${what}`,
      `As the owner: GRANT USAGE ON SCHEMA ${schema} TO ${row.role}; GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${row.role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${row.role};`,
    );
  }
  if (row.owner && row.create) return ok('rights', 'this user may do everything in the schema');
  return warn(
    'rights',
    'this user may work, and may neither migrate nor make the tables of new days, which the pruner needs',
    `GRANT ${row.owned} TO ${row.role}; or let nodes run as ${row.owned}.`,
  );
}

async function checkVacuum(snapshot: DatabaseSnapshot): Promise<Finding> {
  const rows = await all<DeadRows>(
    snapshot,
    `SELECT relname AS name, n_dead_tup AS dead, n_live_tup AS live,
        extract(epoch FROM clock_timestamp() - greatest(last_autovacuum, last_vacuum)) * 1000 AS ago
      FROM pg_stat_all_tables WHERE schemaname = trim('"' FROM '{s}') AND relname IN ('task', 'outbox') ORDER BY n_dead_tup DESC`,
  );
  const { on } = await one<{ on: string }>(snapshot, "SELECT current_setting('autovacuum') AS on");
  return judgeVacuum(rows, on === 'on');
}

interface DeadRows {
  readonly name: string;
  readonly dead: number;
  readonly live: number;
  /** Milliseconds since the last vacuum; null: never, as far as is known. */
  readonly ago: number | null;
}

export function judgeVacuum(rows: readonly DeadRows[], autovacuum: boolean): Finding {
  const says = rows
    .map(({ name, dead, ago }) => {
      return `${name} has ${dead.toLocaleString('en')} dead rows, cleared ${ago === null ? 'never yet' : `${formatAge(ago)} ago`}`;
    })
    .join('; ');
  if (!autovacuum)
    return fail('vacuum', `autovacuum is off; ${says}`, 'Turn autovacuum on: the table of tasks changes all the time.');
  const crowded = rows.find(({ dead, live }) => dead > MANY_DEAD && dead > live);
  if (crowded === undefined) return ok('vacuum', says);
  return warn(
    'vacuum',
    says,
    `See "transactions" for what may hold it up; else: VACUUM ${crowded.name}, and more autovacuum_max_workers.`,
  );
}

async function checkEvents(snapshot: DatabaseSnapshot): Promise<Finding> {
  const row = await one<{ rows: number; age: number | null }>(
    snapshot,
    'SELECT count(*) AS rows, {s}.now_ms() - min(at) AS age FROM (SELECT at FROM {s}.outbox ORDER BY id LIMIT 100000) o',
  );
  return judgeEvents(row);
}

export function judgeEvents({ rows, age }: { readonly rows: number; readonly age: number | null }): Finding {
  const many = rows >= 100_000 ? 'at least 100,000' : rows.toLocaleString('en');
  if (age === null) return ok('events', 'all are numbered');
  const says = `${many} writes wait for the numbers of their events, the oldest for ${formatAge(age)}`;
  if (age < BACKLOG_MS) return ok('events', says);
  return warn(
    'events',
    `${says}; followers of the feed see nothing new`,
    'Start a node (leasehold up): its feed duty numbers them. If one is up, read its log.',
  );
}

async function now(snapshot: DatabaseSnapshot): Promise<number> {
  return (await one<{ now: number }>(snapshot, 'SELECT {s}.now_ms() AS now')).now;
}

async function checkDuties(snapshot: DatabaseSnapshot): Promise<Finding> {
  return judgeDuties(await all(snapshot, 'SELECT name, holder, until FROM {s}.duty'), await now(snapshot));
}

async function checkLeases(snapshot: DatabaseSnapshot): Promise<Finding> {
  return judgeLeases(
    await one(
      snapshot,
      `SELECT count(*) AS running, count(*) FILTER (WHERE lease_until < {s}.now_ms() - ${STUCK_MS}) AS stuck
        FROM {s}.task WHERE state = 1`,
    ),
  );
}

async function checkWorkers(snapshot: DatabaseSnapshot): Promise<Finding> {
  return judgeWorkers(
    await all(snapshot, 'SELECT name, state, beat_at FROM {s}.worker WHERE state <> 3'),
    await now(snapshot),
  );
}

async function checkArtifacts(snapshot: DatabaseSnapshot, artifactStore: string | undefined): Promise<Finding> {
  const row = await one<{ nodes: number }>(
    snapshot,
    'SELECT count(*)::int AS nodes FROM {s}.cluster_node WHERE left_at IS NULL',
  );
  return judgeArtifacts(artifactStore, row.nodes);
}

/** A folder belongs to one node, or to several that all reach the same one; the others would find no bytes in theirs. */
export function judgeArtifacts(artifactStore: string | undefined, nodes: number): Finding {
  const check = 'artifacts';
  if (artifactStore !== undefined && /^s3:/i.test(artifactStore)) return ok(check, 'they lie in a bucket');
  if (nodes < 2) return ok(check, 'they lie in a folder of the node');
  return warn(
    check,
    `they lie in a folder, and there are ${nodes} nodes: what one has taken another may not find`,
    'Give all nodes the same place: --artifact-store s3://BUCKET/PREFIX, or a folder that all of them share.',
  );
}

async function checkRequirements(snapshot: DatabaseSnapshot): Promise<Finding> {
  const asking = await all<AskingRow>(
    snapshot,
    `SELECT q.name AS queue, l.placement FROM {s}.lane l JOIN {s}.queue q ON q.id = l.queue
      WHERE l.placement IS NOT NULL AND EXISTS (SELECT FROM {s}.task t WHERE t.lane = l.id AND t.state = 0) LIMIT 1000`,
  );
  const rows = await all<CarrierRow & { readonly beat_at: number }>(
    snapshot,
    'SELECT tags, beat_at FROM {s}.worker WHERE state < 3 AND enabled',
  );
  const seen = (await now(snapshot)) - DEFAULT_STALE_MS;
  return judgeRequirements(
    asking,
    rows.filter(({ beat_at: at }) => at >= seen),
  );
}

const ROUNDS = 5;

/** Commits a few times like an acknowledged write, and leaves nothing behind. */
async function probe({ connection, schema, clock }: DatabaseSnapshot): Promise<Finding> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = clock.monotonic();
    // One round trip, one transaction.
    await connection.raw(`INSERT INTO ${schema}.meta (key, value) VALUES ('probe', '${round}')
      ON CONFLICT (key) DO UPDATE SET value = excluded.value; DELETE FROM ${schema}.meta WHERE key = 'probe'`);
    times.push(clock.monotonic() - startedAt);
  }
  return judgeWrites(
    times,
    'The disk of the server is slow or busy, or the way to it is long. Put nodes near the server.',
  );
}

function formatAge(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

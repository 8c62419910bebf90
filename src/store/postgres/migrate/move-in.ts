import { fault } from '../../../core/errors.ts';
import type { World } from '../../../core/world.ts';
import { planMigrations } from '../../migrations.ts';
import { SECRET_PIN } from '../../rows/node-rows.ts';
import { numbers, texts } from '../arrays.ts';
import type { Address } from '../connect/address.ts';
import type { Connection } from '../connect/connection.ts';
import { judge } from '../connect/errors.ts';
import { makeDays, makeDaysOf } from '../days.ts';
import { requireVersion } from '../open.ts';
import { MIGRATIONS, schemaStatus } from './migrate.ts';
import { migrateOn, withConnection } from './migrate-database.ts';
import { CHECKS } from './move-in-checks.ts';
import type { Column, Transfer } from './move-in-columns.ts';
import { DAYS, HIGHS, TRANSFERS } from './move-in-tables.ts';

/** The source of the move. No other process has it open. */
export interface Source {
  readonly stand: {
    readonly move: string;
    readonly clusterKey: string;
    readonly secretPin: string;
    readonly settings: Readonly<Record<string, string>>;
    readonly leaseNow: number;
  };
  iterate(sql: string, ...values: readonly number[]): Iterable<readonly unknown[]>;
  /** Everything has arrived, for good. */
  end(): void;
  /** Nothing arrived. */
  undo(): void;
  close(): void;
}

export interface MoveInOptions {
  readonly url: string;
  readonly world: World;
  /** Called when the target is known to be reachable and up to date. */
  readonly begin: () => Source;
  readonly onMoved?: (rows: { readonly done: number; readonly total: number }) => void;
  readonly signal?: AbortSignal | undefined;
}

/** `arrived`: an earlier move that was cut off had come through, and nothing was left to do. */
export type MovedIn = 'moved' | 'arrived';

/** Rows and characters of one statement. */
const BATCH_ROWS = 2000;
const BATCH_CHARACTERS = 2_000_000;
/** Finished tasks of older days go to `done_rest`. */
const MOST_DAYS = 100;

/**
 * Copies everything from a SQLite store into an empty schema, in one transaction. The source is marked before, so that
 * two stores never hand out the same work; see sqlite/upkeep/move-out.ts.
 */
export async function moveIn(options: MoveInOptions): Promise<MovedIn> {
  const { url, world, begin, signal } = options;
  try {
    return await withConnection(url, world, async (connection, address) => {
      await requireVersion(connection, address.name);
      await migrateOn(connection, address, world);
      const source = begin();
      try {
        return await new Move(connection, address, source, options).run();
      } finally {
        source.close();
      }
    });
  } catch (error) {
    // The caller that stopped it gets its own reason.
    throw (error as Error).cause === signal?.reason && signal?.aborted ? signal.reason : error;
  }
}

/** Throws what would prevent a move to this target. Changes nothing there. */
export function rehearseMoveIn(url: string, world: World): Promise<void> {
  return withConnection(url, world, async (connection, { schema, name }) => {
    await requireVersion(connection, name);
    const { version, compatibleFrom } = await schemaStatus(connection, schema);
    planMigrations(MIGRATIONS, version, compatibleFrom);
    if (version > 0) await requireEmpty(connection, schema);
  });
}

class Move {
  readonly #connection: Connection;
  readonly #schema: string;
  readonly #source: Source;
  readonly #options: MoveInOptions;
  readonly #sent = new Map<string, number>();
  #done = 0;
  #total = 0;

  constructor(connection: Connection, { schema }: Address, source: Source, options: MoveInOptions) {
    this.#connection = connection;
    this.#schema = schema;
    this.#source = source;
    this.#options = options;
  }

  async run(): Promise<MovedIn> {
    const connection = this.#connection;
    let went: MovedIn;
    try {
      await connection.raw('BEGIN');
      went = await this.#inside();
    } catch (error) {
      await connection.raw('ROLLBACK').catch(() => {});
      this.#source.undo();
      throw error;
    }
    await connection.raw('COMMIT').catch((error: unknown) => this.#afterLostCommit(error));
    // From here on the target is the store. Without this mark the same command finds that out.
    this.#source.end();
    if (connection.usable) await connection.raw(`ANALYZE ${this.#schema}.task, ${this.#schema}.done`).catch(() => {});
    return went;
  }

  /** The commit may have taken effect, which decides which of the two is the store now. */
  async #afterLostCommit(error: unknown): Promise<void> {
    const { url, world } = this.#options;
    const source = this.#source;
    if (judge(error) !== 'lost') {
      source.undo();
      throw error;
    }
    let arrived: boolean;
    try {
      arrived = await withConnection(url, world, async (connection) => {
        // The transaction that was cut off holds the lock until it ends.
        await connection.raw("SET lock_timeout = '20s'");
        const take = 'SELECT pg_advisory_lock(hashtext($1))';
        await connection.all(undefined, take, [`leasehold ${this.#schema}`]);
        return (await keptMove(connection, this.#schema)) === source.stand.move;
      });
    } catch (cause) {
      const problem = 'the connection was lost in the last moment, so it is not known whether everything arrived';
      const hint =
        'Run the same command again when the server is back: it finds out. Until then neither store is used.';
      throw fault('STORE_UNAVAILABLE', { problem }, { hint, cause });
    }
    if (arrived) return;
    source.undo();
    throw error;
  }

  async #inside(): Promise<MovedIn> {
    const connection = this.#connection;
    const s = this.#schema;
    await connection.raw(`SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
      SET LOCAL lock_timeout = '5s'`);
    await this.#lock();
    const { move, clusterKey, secretPin, settings, leaseNow } = this.#source.stand;
    if ((await keptMove(connection, s)) === move) return 'arrived';
    await requireEmpty(connection, s);
    const before = await this.#now();
    const [epochs] = await connection.all<{ most: number }>(
      undefined,
      `SELECT coalesce(max(epoch), 0) AS most FROM ${s}.duty`,
      [],
    );
    await connection.raw(`DELETE FROM ${s}.event; DELETE FROM ${s}.duty; DELETE FROM ${s}.qstat`);
    await this.#makeDays(before);
    const read = (sql: string): string => sql.replaceAll(':server', `${before}`).replaceAll(':lease', `${leaseNow}`);
    this.#total = TRANSFERS.reduce(
      (sum, { select }) => sum + this.#number(`SELECT count(*) FROM (${read(select)})`),
      0,
    );
    for (const transfer of TRANSFERS) await this.#transfer({ ...transfer, select: read(transfer.select) });
    await connection.all(undefined, `UPDATE ${s}.duty SET epoch = epoch + $1`, [epochs?.most ?? 0]);
    for (const [place, sql] of Object.entries(HIGHS)) {
      const [table, column = 'id'] = place.split('.');
      const text = `SELECT setval(pg_get_serial_sequence('${s}.${table}', '${column}'), $1)`;
      await connection.all(undefined, text, [Math.max(1, this.#number(sql))]);
    }
    if (clusterKey !== '') await this.#meta('cluster_key', clusterKey);
    // The fingerprint holds for one cluster key. That of a node which was here before is void.
    await connection.all(undefined, `DELETE FROM ${s}.meta WHERE key = $1`, [SECRET_PIN]);
    if (secretPin !== '') await this.#meta(SECRET_PIN, secretPin);
    for (const [key, value] of Object.entries(settings)) await this.#meta(key, value);
    await this.#meta('moved_in', move);
    await this.#check();
    // The time of the copy is added to the leases.
    const late = (await this.#now()) - before;
    await connection.all(undefined, `UPDATE ${s}.task SET lease_until = lease_until + $1 WHERE state = 1`, [late]);
    return 'moved';
  }

  /** Keeps other migrators, moves and writers away. */
  async #lock(): Promise<void> {
    const take = 'SELECT pg_try_advisory_xact_lock(hashtext($1)) AS ours';
    const [row] = await this.#connection.all<{ ours: boolean }>(undefined, take, [`leasehold ${this.#schema}`]);
    if (!row?.ours) throw fault('STORE_BUSY', { problem: 'another process migrates it or moves into it' });
    const tables = ['meta', 'duty', 'outbox', ...TRANSFERS.map(({ table }) => table)].map(
      (t) => `${this.#schema}.${t}`,
    );
    await this.#connection.raw(`LOCK TABLE ${[...new Set(tables)].join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
  }

  async #makeDays(now: number): Promise<void> {
    const session = {
      raw: <T>(text: string, values: readonly unknown[] = []) => this.#connection.all<T>(undefined, text, values),
    };
    const days = [...this.#source.iterate(DAYS, MOST_DAYS)].map(([day]) => Number(day));
    await makeDaysOf(session, this.#schema, days);
    await makeDays(session, this.#schema, now);
  }

  async #transfer({ table, columns, select }: Transfer): Promise<void> {
    const names = columns.map(({ name }) => name).join(', ');
    const arrays = columns.map((column, i) => `$${i + 1}::${arrayOf(column)}`).join(', ');
    const text = `INSERT INTO ${this.#schema}.${table} (${names}) SELECT ${columns.map(valueOf).join(', ')}
      FROM unnest(${arrays}) x(${names})`;
    const { onMoved, signal } = this.#options;
    let sending: Promise<unknown> = Promise.resolve();
    let sent = 0;
    for (const rows of batches(this.#source.iterate(select))) {
      // Packed while the batch before is being sent.
      const values = columns.map((column, i) => pack(column, rows, i));
      await sending;
      signal?.throwIfAborted();
      sending = this.#connection.all(undefined, text, values);
      // It is awaited above or below. Until then its error must not be unhandled.
      sending.catch(() => {});
      sent += rows.length;
      this.#done += rows.length;
      onMoved?.({ done: this.#done, total: this.#total });
    }
    await sending;
    this.#sent.set(table, sent);
  }

  /** Compares both sides. */
  async #check(): Promise<void> {
    const show = (rows: Iterable<readonly unknown[]>): string =>
      JSON.stringify([...rows].map((row) => row.map((value) => (value === null ? 0 : Number(value)))));
    const ask = async (sql: string): Promise<string> =>
      show(await this.#connection.rows(undefined, sql.replaceAll('{s}', this.#schema), []));
    const compare = (what: string, here: string, there: string): void => {
      if (here === there) return;
      throw fault('INTERNAL', { problem: `${what} differ after the move: ${here} became ${there}; nothing was moved` });
    };
    for (const [table, sent] of this.#sent) {
      compare(`rows of ${table}`, show([[sent]]), await ask(`SELECT count(*) FROM {s}.${table}`));
    }
    for (const { what, sqlite, postgres } of CHECKS) {
      compare(what, show(this.#source.iterate(sqlite)), await ask(postgres));
    }
  }

  async #meta(key: string, value: string): Promise<void> {
    const sql = `INSERT INTO ${this.#schema}.meta (key, value) VALUES ($1, $2)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`;
    await this.#connection.all(undefined, sql, [key, value]);
  }

  async #now(): Promise<number> {
    const sql = `SELECT ${this.#schema}.now_ms() AS now`;
    return (await this.#connection.all<{ now: number }>(undefined, sql, []))[0]?.now as number;
  }

  #number(sql: string): number {
    for (const [value] of this.#source.iterate(sql)) return Number(value ?? 0);
    return 0;
  }
}

async function keptMove(connection: Connection, schema: string): Promise<string | undefined> {
  const sql = `SELECT value FROM ${schema}.meta WHERE key = 'moved_in'`;
  return (await connection.all<{ value: string }>(undefined, sql, []))[0]?.value;
}

/** What a move would mix with in this schema; undefined when there is nothing. */
async function occupancy(connection: Connection, s: string): Promise<string | undefined> {
  const tables = [...TRANSFERS.map(({ table }) => table), 'outbox'].filter(
    (table) => !['event', 'duty', 'qstat'].includes(table),
  );
  const looks = [
    ...tables.map((table) => `SELECT '${table}' AS table WHERE EXISTS (SELECT FROM ${s}.${table})`),
    `SELECT 'event' WHERE EXISTS (SELECT FROM ${s}.event WHERE seq > 0)`,
    `SELECT 'a node' WHERE EXISTS (SELECT FROM ${s}.duty WHERE until > ${s}.now_ms())`,
  ];
  const rows = await connection.all<{ table: string }>(undefined, looks.join(' UNION ALL '), []);
  const found = rows.map(({ table }) => table);
  if (found.length === 0) return undefined;
  return found.includes('a node') ? 'a node is at work on it' : `there are rows in: ${found.join(', ')}`;
}

async function requireEmpty(connection: Connection, schema: string): Promise<void> {
  const found = await occupancy(connection, schema);
  if (found !== undefined) throw notEmpty(schema, found);
}

function notEmpty(schema: string, found: string): Error {
  return fault(
    'CONFLICT',
    { problem: `the schema ${schema} that it should move to is not empty: ${found}` },
    {
      hint: `Name another one: add schema=NAME to the address. Or stop what uses it, and if nobody needs it: DROP SCHEMA ${schema} CASCADE.`,
    },
  );
}

function* batches(rows: Iterable<readonly unknown[]>): Generator<readonly (readonly unknown[])[]> {
  let batch: (readonly unknown[])[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    for (const value of row) if (typeof value === 'string') characters += value.length;
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

function arrayOf({ kind, type }: Column): string {
  if (kind === 'number') return `${type}[]`;
  return kind === 'truth' ? 'int[]' : 'text[]';
}

function valueOf({ name, kind, type }: Column): string {
  if (kind === 'truth') return `${name} <> 0`;
  return kind === 'list' ? `${name}::${type}` : name;
}

function pack({ kind }: Column, rows: readonly (readonly unknown[])[], i: number): string {
  if (kind === 'number' || kind === 'truth') return numbers(rows.map((row) => row[i] as number | null));
  // Postgres stores no NUL in texts.
  return texts(rows.map((row) => (row[i] as string | null)?.replaceAll('\0', '\uFFFD')));
}

/**
 * The floors: hand-written SQL, one row a step and nothing else; no lease, no fence, nobody who would go on after a crash. `single` commits
 * each step by itself; with `batch` the steps of all runs that are waiting share a commit.
 */
import { DatabaseSync } from 'node:sqlite';
import { Client, Pool } from 'pg';
import { effect, effects } from '../effects.ts';
import { type Place, type Runner, STEPS } from '../part.ts';

type Row = readonly [run: number, key: number, value: string];

interface Table {
  /** Resolves when the row is committed. */
  add(row: Row): Promise<void>;
  close(): Promise<void>;
}

const SCHEMA = 'CREATE TABLE step (run bigint NOT NULL, key int NOT NULL, value text NOT NULL, PRIMARY KEY (run, key))';
const CONNECTIONS = 16;
/** As many statements are under way. */
const IN_FLIGHT = 2;

export const openSingle = (place: Place): Promise<Runner> =>
  runner(place.store === 'postgres' ? singleOnPostgres(place.at) : singleOnSqlite(place.at));

export const openBatch = (place: Place): Promise<Runner> =>
  runner(place.store === 'postgres' ? batchOnPostgres(place.at) : batchOnSqlite(place.at));

async function runner(opening: Promise<Table>): Promise<Runner> {
  const table = await opening;
  return {
    async run(run) {
      let last = '';
      for (let n = 1; n <= STEPS; n++) await table.add([run, n, (last = effect(run, n))]);
      return { n: STEPS, last };
    },
    async close() {
      await table.close();
      return effects();
    },
  };
}

async function singleOnSqlite(file: string): Promise<Table> {
  const { db, insert } = sqlite(file);
  return { add: async (row) => void insert.run(...row), close: async () => db.close() };
}

async function batchOnSqlite(file: string): Promise<Table> {
  const { db, insert } = sqlite(file);
  const batcher = new Batcher(1, async (rows) => {
    db.exec('BEGIN IMMEDIATE');
    for (const row of rows) insert.run(...row);
    db.exec('COMMIT');
  });
  return { add: (row) => batcher.add(row), close: async () => db.close() };
}

function sqlite(file: string): { readonly db: DatabaseSync; readonly insert: ReturnType<DatabaseSync['prepare']> } {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${SCHEMA}`);
  return { db, insert: db.prepare('INSERT INTO step VALUES (?, ?, ?)') };
}

async function singleOnPostgres(url: string): Promise<Table> {
  await create(url);
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  return {
    add: async (row) =>
      void (await pool.query({ name: 'add', text: 'INSERT INTO step VALUES ($1, $2, $3)', values: [...row] })),
    close: () => pool.end(),
  };
}

async function batchOnPostgres(url: string): Promise<Table> {
  await create(url);
  const pool = new Pool({ connectionString: url, max: IN_FLIGHT });
  const text = 'INSERT INTO step SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[])';
  const batcher = new Batcher(IN_FLIGHT, async (rows) => {
    const column = (i: 0 | 1 | 2): (number | string)[] => rows.map((row) => row[i]);
    await pool.query({ name: 'add', text, values: [column(0), column(1), column(2)] });
  });
  return { add: (row) => batcher.add(row), close: () => pool.end() };
}

async function create(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(SCHEMA);
  await client.end();
}

/** What is added at the same time, or while all statements are under way, goes together. */
class Batcher {
  readonly #most: number;
  readonly #write: (rows: readonly Row[]) => Promise<void>;
  #waiting: { readonly row: Row; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #inFlight = 0;
  #called = false;

  constructor(most: number, write: (rows: readonly Row[]) => Promise<void>) {
    this.#most = most;
    this.#write = write;
  }

  add(row: Row): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, resolve, reject });
      this.#call();
    });
  }

  #call(): void {
    if (this.#called || this.#inFlight === this.#most || this.#waiting.length === 0) return;
    this.#called = true;
    setImmediate(() => {
      this.#called = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const items = this.#waiting;
    this.#waiting = [];
    this.#inFlight++;
    try {
      await this.#write(items.map(({ row }) => row));
      for (const { resolve } of items) resolve();
    } catch (error) {
      for (const { reject } of items) reject(error);
    } finally {
      this.#inFlight--;
      this.#call();
    }
  }
}

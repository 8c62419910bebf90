import pg from 'pg';
import { realWorld } from '../../src/app/world.ts';
import type { World } from '../../src/core/world.ts';
import type { Connection } from '../../src/store/postgres/connect/connection.ts';
import { openPostgres } from '../../src/store/postgres/open.ts';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import type { Store } from '../../src/store/store.ts';
import { freshDatabase } from '../support/postgres.ts';
import { type Caller, Ground, type Process, processOf, START_WALL } from './rig.ts';
import { settle, type VirtualHost } from './world.ts';

const SCHEMA = 'runs';
/** Turns of the loop without a call on its way, after which nothing is. */
const QUIET_TURNS = 3;

/**
 * A schema of a real server whose clock is the model's. Runs follow one another in it: before each it is emptied, which
 * is ten times faster than a migration.
 */
export class PostgresGround extends Ground {
  readonly #url: string;
  readonly #admin: pg.Client;
  readonly #callers: pg.Client;
  #empty: readonly string[] | undefined;
  /** Calls that a store has not answered yet. */
  #calls = 0;

  private constructor(url: string, admin: pg.Client, callers: pg.Client) {
    super('postgres');
    this.#url = url;
    this.#admin = admin;
    this.#callers = callers;
  }

  static async open(): Promise<PostgresGround> {
    const database = await freshDatabase('properties');
    const [admin, callers] = [new pg.Client(database), new pg.Client(database)];
    await Promise.all([admin.connect(), callers.connect()]);
    return new PostgresGround(`${database}&schema=${SCHEMA}&pool=3`, admin, callers);
  }

  override async lay(): Promise<{ place: string; workers: readonly number[]; raw: undefined }> {
    this.#empty ??= await this.#found();
    for (const sql of this.#empty) await this.#admin.query(sql);
    await this.setClock(SCHEMA, START_WALL);
    return { place: SCHEMA, workers: [], raw: undefined };
  }

  /** Makes the schema; answers what brings it back to what it is then. */
  async #found(): Promise<readonly string[]> {
    const store = await openPostgres({ url: this.#url, world: realWorld(), prepare: stopClock });
    await store.close();
    const { rows } = await this.#admin.query<{ name: string }>(
      `SELECT quote_ident(relname) AS name FROM pg_class
        WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        AND relname NOT IN ('meta', 'test_clock')`,
    );
    const clear = rows.map(({ name }) => `DELETE FROM ${SCHEMA}.${name}`);
    const put: string[] = [];
    for (const { name } of rows) {
      const kept = await this.#admin.query(`SELECT json_agg(t)::text AS all FROM ${SCHEMA}.${name} t`);
      const [{ all }] = kept.rows as [{ all: string | null }];
      const values = `json_populate_recordset(NULL::${SCHEMA}.${name}, ${pg.escapeLiteral(all ?? '')})`;
      if (all !== null) put.push(`INSERT INTO ${SCHEMA}.${name} SELECT * FROM ${values}`);
    }
    const days = `DO $$ DECLARE day text; BEGIN
      FOR day IN SELECT relname FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relname ~ '^done_[0-9]{8}$'
      LOOP EXECUTE format('DROP TABLE ${SCHEMA}.%I', day); END LOOP; END $$`;
    return [days, [...clear, ...put].join(';')];
  }

  override async start(_place: string, host: VirtualHost): Promise<Process> {
    const { world, kill } = host.process();
    const store = await openPostgres({ url: this.#url, world: onTheNetwork(world) });
    return processOf(this.#watched(store), world, kill);
  }

  /** Counts the calls that are on their way. */
  #watched(store: PostgresStore): Store {
    // The server's own age is in real time, and no run is about it.
    const leaseOverdue = store.leaseOverdue.bind(store);
    store.leaseOverdue = async (params) => {
      const { upForMs: _age, ...overdue } = await leaseOverdue(params);
      return overdue;
    };
    return new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const answer: unknown = Reflect.apply(value, target, args);
          if (!(answer instanceof Promise)) return answer;
          this.#calls++;
          return answer.finally(() => {
            this.#calls--;
          });
        };
      },
    });
  }

  override async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet = this.#calls === 0 ? quiet + 1 : 0) await settle();
  }

  override async setClock(_place: string, now: number): Promise<void> {
    await this.#admin.query(`UPDATE ${SCHEMA}.test_clock SET ms = $1`, [now]);
  }

  override async caller(): Promise<Caller> {
    const ask = (sql: string) => async (): Promise<void> => void (await this.#callers.query(sql));
    return { tx: this.#callers, begin: ask('BEGIN'), commit: ask('COMMIT'), rollback: ask('ROLLBACK') };
  }

  override async remove(): Promise<void> {
    await super.remove();
    await Promise.all([this.#admin.end(), this.#callers.end()]);
  }
}

async function stopClock(connection: Connection, schema: string): Promise<void> {
  await connection.raw(`CREATE TABLE ${schema}.test_clock AS SELECT ${START_WALL}::bigint AS ms`);
  await connection.raw(`CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT ms FROM ${schema}.test_clock'`);
}

/** The network takes real time, whatever the clocks of the run say. */
function onTheNetwork(world: World): World {
  const { timers } = realWorld();
  return { ...world, timers: { ...timers, soon: world.timers.soon } };
}

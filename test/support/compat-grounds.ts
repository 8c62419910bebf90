/** The stores on which everything in `src/compat` must be the same. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { realWorld } from '../../src/app/world.ts';
import type { BackendConfig } from '../../src/compat/index.ts';
import type { World } from '../../src/core/world.ts';
import { openPostgres } from '../../src/store/postgres/open.ts';
import { VirtualWorld } from '../../src/testing.ts';
import { freshDatabase } from './postgres.ts';
import { adminOf, stopClock } from './postgres-contract.ts';

export interface Ground {
  readonly kind: 'sqlite' | 'memory' | 'postgres';
  /** For both FlatMachines backends. */
  readonly config: BackendConfig;
  /** For `connectRuntimeDb`. */
  readonly path: string;
  /** What passes here passes for the store too. */
  readonly world: World;
  /** Time passes, and nothing is renewed meanwhile. */
  readonly elapse: (ms: number) => Promise<void>;
  /** Somebody sets the calendar of this process. */
  readonly jump: (ms: number) => void;
  /** What somebody sees who looks into the store. */
  readonly rows: (sql: string) => Promise<readonly Record<string, unknown>[]>;
  /** The present time, as the SQL of this store writes it. */
  readonly sqlNow: string;
  /** The same with timers that fire, where time is ours. */
  readonly virtual: VirtualWorld | undefined;
}

const BEGINNING = Date.UTC(2026, 0, 5, 12);
const KINDS = ['sqlite', 'memory', 'postgres'] as const;
/** A test, or whoever else ends what was begun. */
interface Ending {
  after(end: () => unknown): void;
}

type Body = (t: TestContext, ground: Ground) => Promise<void>;

/** One test per store. */
export function onEachStore(folder: string, name: string, body: Body, kinds: readonly Ground['kind'][] = KINDS): void {
  for (const kind of kinds) test(`${kind}: ${name}`, async (t) => body(t, await ground(t, kind, folder)));
}

export async function ground(t: Ending, kind: Ground['kind'], folder: string, wall = BEGINNING): Promise<Ground> {
  if (kind === 'postgres') return postgresGround(t, wall);
  const world = new VirtualWorld({ wall });
  const name = randomUUID();
  const file = join(folder, `${name}.db`);
  const path = kind === 'sqlite' ? file : `memory:${name}`;
  // Held open: a memory ends with its last handle.
  const db = new DatabaseSync(kind === 'sqlite' ? file : `file:/leasehold-${name}?vfs=memdb`);
  t.after(() => db.close());
  return {
    kind,
    path,
    config: { type: kind, sqlite_path: kind === 'sqlite' ? file : name },
    world,
    virtual: world,
    elapse: async (ms) => world.elapse(ms),
    jump: (ms) => world.jump(ms),
    rows: async (sql) =>
      db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row })),
    sqlNow: "datetime('now')",
  };
}

let database: Promise<string> | undefined;
let schemas = 0;

/** The server's clock stands still; that of the process goes on, for what it waits for is real. */
async function postgresGround(t: Ending, wall: number): Promise<Ground> {
  database ??= freshDatabase('compat');
  const base = await database;
  const schema = `g${schemas++}`;
  const url = `${base}&schema=${schema}&pool=3`;
  const real = realWorld();
  const begun = real.clock.monotonic();
  let shift = 0;
  let jumped = 0;
  const world: World = {
    ...real,
    clock: {
      monotonic: () => real.clock.monotonic() + shift,
      wall: () => wall + real.clock.monotonic() - begun + shift + jumped,
    },
  };
  const prepare = openPostgres({ url, world: real, prepare: (client, quoted) => stopClock(client, quoted, wall) });
  await (await prepare).close();
  const admin = await adminOf(base);
  await admin.query(`SET search_path = ${schema}`);
  t.after(() => admin.end());
  return {
    kind: 'postgres',
    path: url,
    config: { type: 'postgres', postgres_url: url },
    world,
    virtual: undefined,
    elapse: async (ms) => {
      shift += ms;
      await admin.query('UPDATE test_clock SET ms = ms + $1', [ms]);
    },
    jump: (ms) => {
      jumped += ms;
    },
    rows: async (sql) => (await admin.query<Record<string, unknown>>(sql)).rows,
    sqlNow: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')`,
  };
}

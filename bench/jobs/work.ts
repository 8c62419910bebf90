/** One process of the benchmark of work pools: through `leasehold/compat`, and by hand. */
import { DatabaseSync } from 'node:sqlite';
import { loadModule } from '../contenders/library.ts';
import { type Line, micros } from './line.ts';

type Compat = typeof import('../../src/compat/index.ts');

export interface WorkArgs {
  /** Pushed by the first process, before the others come. */
  readonly seed?: number;
  /** Claims in flight. */
  readonly flight: number;
  /** Items that a process works off before it says that it is ready. */
  readonly warm: number;
}

export interface WorkResult {
  readonly done: number;
  /** Monotonic µs. */
  readonly lastAt: number;
  readonly cpuMicros: number;
}

const POOL = 'bench';
const BULK = 500;
const input = { text: 'x'.repeat(380) };

/** Claims and completes until the pool is empty, each call awaited before the next of its flight. */
export async function workLoop(file: string, { seed, flight, warm }: WorkArgs, line: Line): Promise<WorkResult> {
  const { createWorkBackend } = await loadModule<Compat>('compat/index');
  const backend = await createWorkBackend({ type: 'sqlite', sqlite_path: file });
  const pool = backend.pool(POOL);
  for (let left = seed ?? 0; left > 0; left -= BULK)
    await Promise.all(Array.from({ length: Math.min(BULK, left) }, () => pool.push(input)));
  const worker = `bench:${process.pid}`;
  const loop = async (left: () => boolean): Promise<number> => {
    let done = 0;
    while (left()) {
      const item = await pool.claim(worker);
      if (item === null) break;
      await pool.complete(item);
      done++;
    }
    return done;
  };
  const result = await measured(line, seed === undefined, {
    warm: async () => {
      let left = warm;
      await Promise.all(Array.from({ length: flight }, () => loop(() => left-- > 0)));
    },
    work: async () => {
      const counts = await Promise.all(Array.from({ length: flight }, () => loop(() => true)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
  });
  await backend.close();
  return result;
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, worker TEXT,
    attempt INTEGER NOT NULL DEFAULT 0, until INTEGER, data TEXT NOT NULL, result TEXT) STRICT;
  CREATE INDEX IF NOT EXISTS pending ON item (id) WHERE state = 0;`;

/** What one writes by hand: a claim and a completion, each a commit with full durability, with a lease and a fence. */
export async function handLoop(file: string, { seed, warm }: WorkArgs, line: Line): Promise<WorkResult> {
  const db = new DatabaseSync(file, { timeout: 60_000 });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${SCHEMA}`);
  const insert = db.prepare('INSERT INTO item (state, data) VALUES (0, ?)');
  const claim = db.prepare(`UPDATE item SET state = 1, worker = ?, attempt = attempt + 1, until = ?
    WHERE id = (SELECT id FROM item INDEXED BY pending WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id, attempt, data`);
  const complete = db.prepare('UPDATE item SET state = 2, result = ? WHERE id = ? AND attempt = ? AND state = 1');
  db.exec('BEGIN IMMEDIATE');
  for (let n = 0; n < (seed ?? 0); n++) insert.run(JSON.stringify(input));
  db.exec('COMMIT');
  const worker = `bench:${process.pid}`;
  const loop = (left: () => boolean): number => {
    let done = 0;
    while (left()) {
      const item = claim.get(worker, Date.now() + 30_000);
      if (item === undefined) break;
      JSON.parse(String(item['data']));
      if (complete.run('null', item['id'] ?? 0, item['attempt'] ?? 0).changes !== 1) throw new Error('lease lost');
      done++;
    }
    return done;
  };
  const result = await measured(line, seed === undefined, {
    warm: async () => {
      let left = warm;
      loop(() => left-- > 0);
    },
    work: async () => loop(() => true),
  });
  db.close();
  return result;
}

interface Parts {
  readonly warm: () => Promise<void>;
  readonly work: () => Promise<number>;
}

async function measured(line: Line, works: boolean, { warm, work }: Parts): Promise<WorkResult> {
  if (!works) return { done: 0, lastAt: 0, cpuMicros: 0 };
  await warm();
  await line.barrier();
  const before = process.cpuUsage();
  const done = await work();
  const { user, system } = process.cpuUsage(before);
  return { done, lastAt: micros(), cpuMicros: user + system };
}

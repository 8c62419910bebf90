/**
 * One scene of `npm run bench:path` in a process of its own, through a built package: what a user calls, and what that costs. Prints
 * one line of JSON: figures of each part, per task.
 */
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { query } from '../ground/databases.ts';
import { COLD_TASKS, type PathFigures } from './part.ts';
import { countStatements } from './statements.ts';

type Library = typeof import('../../src/index.ts');

const COLD_PUSHES = 500;
const WARM_PUSHES = 3000;
/** So few that SQLite does not begin its log anew, so that the size of it tells what was written. */
const COUNTED_TASKS = 4000;
const COUNTED_PUSHES = 500;
const SLOTS = 125;
/** A page and its head. */
const FRAME_BYTES = 4096 + 24;

const [library = '', address = '', scene = '', warmTasks = '60000'] = process.argv.slice(2);
const counted = scene === 'counted' ? countStatements(library) : undefined;
const { open, task } = (await import(pathToFileURL(library).href)) as Library;
const input = { text: 'x'.repeat(380) };
const file = address.startsWith('sqlite:') ? address.slice('sqlite:'.length) : undefined;

const noop = task('noop', { queue: 'bench', run: (_input: typeof input) => {} });
const app = await open(address);
const parts: Record<string, PathFigures> = {};

if (scene === 'drain') {
  parts['drain, cold'] = await drained(COLD_TASKS);
  parts['drain, warm'] = await drained(Number(warmTasks));
} else if (scene === 'push') {
  parts['push, cold'] = await pushed(COLD_PUSHES);
  parts['push, warm'] = await pushed(WARM_PUSHES);
} else {
  // What is written once by the first of a kind counts for no later one.
  await drained(1000);
  await pushed(10);
  const reader = holdLog();
  parts['drain'] = await costs(COUNTED_TASKS, () => drained(COUNTED_TASKS));
  parts['push'] = await costs(COUNTED_PUSHES, () => pushed(COUNTED_PUSHES));
  reader?.close();
}
await app.close();
console.log(JSON.stringify(parts));

/** Pushes that many, then works them off. Only the work is measured. */
async function drained(tasks: number): Promise<PathFigures> {
  for (let n = 0; n < tasks; n += 1000)
    await app.pushMany(
      noop,
      Array.from({ length: 1000 }, () => input),
    );
  const done = Promise.withResolvers<void>();
  let left = tasks;
  const onSettled = (_: unknown, outcome: string): void => {
    if (outcome === 'completed' && --left === 0) done.resolve();
  };
  const worker = app.worker({ tasks: [noop], slots: SLOTS, onSettled });
  const figures = await measured(tasks, async () => {
    const started = worker.start();
    await done.promise;
    await started;
  });
  await worker.stop();
  return figures;
}

/** One after the other, each acknowledged before the next. */
async function pushed(tasks: number): Promise<PathFigures> {
  return measured(tasks, async () => {
    for (let n = 0; n < tasks; n++) await app.push(noop, input);
  });
}

async function measured(tasks: number, work: () => Promise<void>): Promise<PathFigures> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (tasks / ms) * 1000, cpuMicros: (user + system) / tasks };
}

async function costs(tasks: number, work: () => Promise<PathFigures>): Promise<PathFigures> {
  const before = await look();
  const figures = await work();
  const after = await look();
  return {
    ...figures,
    statements: (after.statements - before.statements) / tasks,
    commits: (after.commits - before.commits) / tasks,
    walBytes: (after.wal - before.wal) / tasks,
  };
}

interface Costs {
  readonly statements: number;
  readonly commits: number;
  readonly wal: number;
}

async function look(): Promise<Costs> {
  const { statements = 0, commits = 0 } = counted ?? {};
  if (file !== undefined) return { statements, commits, wal: logBytes(file) };
  const [row] = await query(
    address,
    `SELECT pg_current_wal_insert_lsn() - '0/0' AS wal, xact_commit AS commits FROM pg_stat_database WHERE datname = current_database()`,
  );
  return { statements, commits: Number(row?.['commits']), wal: Number(row?.['wal']) };
}

/** By its frames: a log is longer than what is written to it. */
function logBytes(store: string): number {
  const db = new DatabaseSync(store);
  try {
    const { log } = db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number };
    return log * FRAME_BYTES;
  } finally {
    db.close();
  }
}

/** While somebody reads, SQLite does not begin its log anew. */
function holdLog(): DatabaseSync | undefined {
  if (file === undefined) return undefined;
  const reader = new DatabaseSync(file);
  reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  return reader;
}

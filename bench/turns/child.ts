/**
 * One round of `npm run bench:turns` in a process of its own, through the public library of whichever checkout it is told:
 * durable steps, children that are spawned and waited for, and plain tasks. Prints one line of JSON.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { query } from '../ground/databases.ts';

type Library = typeof import('../../src/index.ts');

const [source = '', address = '', what = ''] = process.argv.slice(2);
const { open, task } = (await import(pathToFileURL(join(source, 'src/index.ts')).href)) as Library;

const RUNS = 64;
const STEPS = 100;
const CHILDREN = 40;
const PLAIN = 8000;
/** 300 bytes, of which nothing repeats that a database could pack. */
const value = (): string => Array.from({ length: 30 }, () => Math.random().toString(36).slice(2, 12)).join('');

const steps = task('steps', {
  async run(count: number, ctx) {
    for (let i = 0; i < count; i++) await ctx.step('one', value);
  },
});
const child = task('child', { run: () => null });
const parent = task('parent', {
  async run(count: number, ctx) {
    const children = [];
    for (let i = 0; i < count; i++) children.push(await ctx.spawn(child, undefined));
    await ctx.wait('all', { children });
  },
});
const together = task('together', {
  async run(count: number, ctx) {
    const children = await Promise.all(Array.from({ length: count }, () => ctx.spawn(child, undefined)));
    await ctx.wait('all', { children });
  },
});

const app = await open(address, { housekeeping: false } as never).catch(() => open(address));
const worker = app.worker({ tasks: [steps, child, parent, together], slots: RUNS });
await worker.start();

interface Mark {
  readonly at: number;
  readonly wal: number;
  readonly commits: number;
}

const file = address.startsWith('sqlite:') ? address.slice('sqlite:'.length) : undefined;

/** SQLite appends to its log until a checkpoint: these rounds are small enough that its size only grows. */
async function mark(): Promise<Mark> {
  const at = performance.now();
  if (file !== undefined) return { at, wal: statSync(`${file}-wal`).size, commits: 0 };
  const [row] = await query(
    address,
    `SELECT pg_current_wal_insert_lsn() - '0/0' AS wal, xact_commit AS commits FROM pg_stat_database WHERE datname = current_database()`,
  );
  return { at, wal: Number(row?.['wal']), commits: Number(row?.['commits']) };
}

const units = { steps: RUNS * STEPS, spawns: RUNS * CHILDREN, together: RUNS * CHILDREN, plain: PLAIN }[what] ?? 1;

async function round(): Promise<void> {
  if (what === 'plain') {
    const handles = await app.pushMany(
      child,
      Array.from({ length: PLAIN }, () => undefined),
    );
    await Promise.all(handles.map((handle) => handle.result()));
    return;
  }
  const definition = what === 'steps' ? steps : what === 'spawns' ? parent : together;
  const handles = await app.pushMany(
    definition,
    Array.from({ length: RUNS }, () => (what === 'steps' ? STEPS : CHILDREN)),
  );
  await Promise.all(handles.map((handle) => handle.result()));
}

// What is compiled and prepared by it is the same for all.
const warm = await app.push(what === 'steps' ? steps : what === 'together' ? together : parent, 2);
await warm.result();
const before = await mark();
const cpu = process.cpuUsage();
await round();
const after = await mark();
const used = process.cpuUsage(cpu);
await app.close();
console.log(
  JSON.stringify({
    rate: units / ((after.at - before.at) / 1000),
    cpuMicros: (used.user + used.system) / units,
    walBytes: (after.wal - before.wal) / units,
  }),
);

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type App, open } from '../../../src/app/open.ts';
import { run, SOURCE_BIN, temporaryFolder } from '../../support/leasehold.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { RealNode } from '../../support/real-node.ts';
import { INSPECT, Inspected } from '../../support/runs/inspected.ts';
import { scaled } from '../../support/scale.ts';

// Machines that wait are rows: a node with thousands of them keeps and does no more than one with a few, whether it has seen them begin or not.

/** What a node has warmed up with before it is measured. */
const FEW = 100;
/** Of those that wait on a channel of their own, how many hear. */
const HEARD = 50;

const MACHINE = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'waiting',
    context: { n: '{{ input.n }}', channel: '{{ input.channel }}' },
    states: {
      ask: {
        wait_for: '{{ context.channel }}',
        timeout: 86_400,
        output_to_context: { said: '{{ output.said }}' },
        transitions: [{ to: 'end' }],
      },
      end: { type: 'final', output: { n: '{{ context.n }}', said: '{{ context.said }}' } },
    },
  },
};

interface Look {
  /** MiB that are alive after a collection. */
  readonly heap: number;
  /** MiB, as the kernel counts them. */
  readonly rss: number;
  readonly timers: number;
  readonly promises: number;
  /** Statements of two seconds in which nobody asks for anything: those of SQLite, transactions of Postgres. */
  readonly statements: number;
  /** Rows that Postgres has read in that time. */
  readonly rows: number;
  readonly cpuMs: number;
}

interface Node {
  readonly node: RealNode;
  readonly inside: Inspected;
}

async function start(t: TestContext, cwd: string, url: string): Promise<Node> {
  const process = run(t, ['up', '--port', '0', '--store', url, '--lease-duration', '4s'], {
    cwd,
    program: SOURCE_BIN,
    nodeArgs: [INSPECT],
  });
  const address = await process.address();
  const node = RealNode.of(process, address, readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim());
  await node.until(async () => (await fetch(`${address}/readyz`)).status === 200, 'the node is ready');
  const inside = await Inspected.open(t, process);
  // Statements of SQLite are calls of two functions; those of Postgres are counted by the server.
  await inside.value(`
    for (const name of ['run', 'get', 'all', 'iterate']) {
      const { prototype } = process.getBuiltinModule('node:sqlite').StatementSync;
      const called = prototype[name];
      prototype[name] = function (...given) {
        globalThis.statements = (globalThis.statements ?? 0) + 1;
        return called.apply(this, given);
      };
    }`);
  return { node, inside };
}

/** What the node keeps and does while nobody asks for anything. */
async function look({ node, inside }: Node, postgres: Client | undefined): Promise<Look> {
  const mib = (bytes: number): number => Math.round((bytes / 1024 / 1024) * 10) / 10;
  // The best of three: the node may still tidy up after what was asked of it, and its leases are looked after by a clock.
  const windows = [await idle(inside, postgres), await idle(inside, postgres), await idle(inside, postgres)];
  const least = (of: (window: Idle) => number): number => Math.min(...windows.map(of));
  const heap = mib(await inside.heap());
  const [, rss] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${node.process.child.pid}/status`, 'utf8')) ?? [];
  return {
    heap,
    rss: mib(Number(rss) * 1024),
    timers: await inside.alive('Object.getPrototypeOf(setTimeout(() => {}, 0))'),
    promises: await inside.alive('Promise.prototype'),
    statements: least(({ statements }) => statements),
    rows: least(({ rows }) => rows),
    cpuMs: least(({ cpuMs }) => cpuMs),
  };
}

interface Idle {
  readonly statements: number;
  readonly rows: number;
  readonly cpuMs: number;
}

/** What a node does in two seconds: a length of time is what is measured here, and nothing waits for it. */
async function idle(inside: Inspected, postgres: Client | undefined): Promise<Idle> {
  const served = async (): Promise<readonly [number, number]> => {
    // Of our own tables: the look itself reads the catalogue.
    const sql = `SELECT xact_commit::int AS n,
        (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::int + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::int AS rows
      FROM pg_stat_database WHERE datname = current_database()`;
    const { rows = [] } = (await postgres?.query<{ n: number; rows: number }>(sql)) ?? {};
    return [rows[0]?.n ?? 0, rows[0]?.rows ?? 0];
  };
  const [before, read] = await served();
  const [statements, cpuMs] = (await inside.value(`(async () => {
    const [before, cpu] = [globalThis.statements ?? 0, process.cpuUsage()];
    await new Promise((go) => setTimeout(go, 2000));
    const { user, system } = process.cpuUsage(cpu);
    return [(globalThis.statements ?? 0) - before, Math.round((user + system) / 1000)];
  })()`)) as readonly [number, number];
  const [after, readThen] = await served();
  return { statements: statements + after - before, rows: readThen - read, cpuMs };
}

/** No slot, no lease, and nothing in the process that is there for each of them. */
async function same({ node }: Node, count: number, now: Look, few: Look): Promise<void> {
  const { workers } = await node.call('GET', '/workers');
  assert.deepEqual([...new Set(workers.map(({ running }: { readonly running: number }) => running))], [0]);
  const told = `${JSON.stringify(now)} with ${count}, ${JSON.stringify(few)} with ${FEW}`;
  // A machine that is kept in memory is some ten thousand bytes.
  assert.ok(now.heap - few.heap < 5, `the heap grew: ${told}`);
  assert.ok(now.timers - few.timers < 20, `timers: ${told}`);
  assert.ok(now.promises - few.promises < 300, `promises: ${told}`);
  assert.ok(now.statements < 2 * few.statements + 20, `statements: ${told}`);
  assert.ok(now.rows < 2 * few.rows + 200, `rows read: ${told}`);
}

async function waiting(t: TestContext, url: string, about: number, postgres?: Client): Promise<void> {
  // One half waits for signals of its own, the other for one together.
  const count = 2 * Math.round(about / 2);
  const cwd = temporaryFolder(t);
  const first = await start(t, cwd, url);
  const app = await open(url, { housekeeping: false });
  t.after(() => app.close({ drainMs: 0 }));
  const half = count / 2;
  const channel = (n: number): string => (n < half ? `answer/${n}` : 'everybody');
  const begin = (from: number, to: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: to - from }, (_, i) => from + i).map((n) =>
        app.runs.start({ machine: MACHINE, name: `run/${n}`, input: { n, channel: channel(n) } }),
      ),
    );
  await begin(0, FEW);
  await until(app, { waiting: FEW });
  const few = await look(first, postgres);
  const began = performance.now();
  await begin(FEW, count);
  const started = performance.now();
  await until(app, { waiting: count });
  const waited = performance.now();
  const many = await look(first, postgres);
  await same(first, count, many, few);

  first.node.process.child.kill('SIGKILL');
  await first.node.process.ended;
  const second = await start(t, cwd, url);
  await second.node.until(async () => (await second.node.call('GET', '/workers')).workers.length > 0, 'it works');
  const restarted = await look(second, postgres);
  await same(second, count, restarted, few);
  assert.ok(restarted.rss < few.rss + 50, `${restarted.rss} MiB with ${count}, ${few.rss} with ${FEW}`);

  const signalled = performance.now();
  const heard = Array.from({ length: HEARD }, (_, i) => i * 3);
  await Promise.all(heard.map((n) => app.signal(`answer/${n}`, { said: `to ${n}` })));
  await until(app, { waiting: count - HEARD, completed: HEARD });
  for (const n of heard) assert.deepEqual(await outputOf(app, n), { n, said: `to ${n}` });
  const alone = performance.now();
  await app.signal('everybody', { said: 'to all' }, { broadcast: true });
  await until(app, { waiting: half - HEARD, completed: half + HEARD });
  const all = performance.now();
  for (const n of [half, half + 1, count - 1]) assert.deepEqual(await outputOf(app, n), { n, said: 'to all' });
  assert.equal((await app.runs.get('run/1'))?.state, 'waiting');
  await second.inside.close();
  await second.node.stop();
  const s = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`;
  t.diagnostic(
    `${count} runs: started in ${s(began, started)}, all wait after ${s(began, waited)}; ${HEARD} signals ${s(signalled, alone)}, ${half} by a broadcast ${s(alone, all)}`,
  );
  for (const [name, seen] of Object.entries({ few, many, restarted })) t.diagnostic(`${name}: ${JSON.stringify(seen)}`);
}

async function outputOf(app: App, n: number): Promise<unknown> {
  const run = await app.runs.get(`run/${n}`);
  return run && app.handle(run.id).result();
}

/** Until the queue has these tasks and no others. A busy host may take long, but something comes of it. */
async function until(app: App, wanted: Readonly<Record<string, number>>): Promise<void> {
  const whole = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0, ...wanted };
  let last = '';
  for (let changed = performance.now(); performance.now() - changed < 60_000; await sleep(50)) {
    const stats: Readonly<Record<string, number>> = { ...(await app.stats('machines')) };
    if (Object.entries(whole).every(([state, n]) => stats[state] === n)) return;
    if (JSON.stringify(stats) !== last) changed = performance.now();
    last = JSON.stringify(stats);
  }
  assert.fail(`it never came to ${JSON.stringify(wanted)}, but to ${last}`);
}

test('thousands of machines that wait for a signal cost rows only, through a restart of the node', async (t) => {
  await waiting(t, `sqlite:${join(temporaryFolder(t), 'waiting.db')}`, scaled(1500, 10_000));
});

test('machines that wait for a signal cost rows only, on Postgres as well', async (t) => {
  const url = await freshDatabase('waiting');
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  await waiting(t, url, scaled(600, 10_000), client);
});

/**
 * `npm run bench:ephemeral`: workers that take one task and end, on the package as it is installed. From the spawn of each to its first claim, beside the
 * bare start of the same Node, and how many of them a second two hands can start one after the other.
 *
 *     node bench/ephemeral.ts [--store sqlite|postgres|both] [--rounds 15] [--no-record]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installBundled } from '../build/install.ts';
import { open } from '../src/app/open.ts';
import { createWorkBackend } from '../src/compat/index.ts';
import { task } from '../src/index.ts';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'both' },
    rounds: { type: 'string', default: '15' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const ROUNDS = Number(flags.rounds);
/** Two cores: more at once would only wait for each other. */
const HANDS = 2;
const EACH = 10;
const POOL = 'jobs';
/** What a user's own program of one worker looks like. */
const PROGRAM = `
  import { open, task } from 'leasehold';
  const app = await open(process.argv[2]);
  const worker = app.worker({ tasks: [task('echo', { run: () => 1 })], once: true });
  await worker.start();
  await worker.ended;
  await app.close();`;
/** The shipped machine, but for where its pools are. */
const JOB_WORKER = readFileSync(join(import.meta.dirname, '../machines/job_worker.yml'), 'utf8');
const PROCESSOR = `
spec: flatmachine
spec_version: "4.2.1"
data:
  name: actual_job_processor
  states:
    start: { type: initial, transitions: [{ to: done }] }
    done: { type: final, output: { ok: true } }
`;

const { NODE_COMPILE_CACHE: _, ...ENVIRONMENT } = process.env;
const folder = mkdtempSync(join(tmpdir(), 'leasehold-bench-ephemeral-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const bin = await installBundled(folder);
writeFileSync(join(folder, 'program.mjs'), PROGRAM);
writeFileSync(join(folder, 'actual_job_processor.yml'), PROCESSOR);
const echo = task('echo', { run: () => 1 });

for (const store of ['sqlite', 'postgres'] as const) {
  if (flags.store !== 'both' && flags.store !== store) continue;
  const ground = await (store === 'postgres' ? openServer() : openFiles());
  process.on('exit', () => ground.close());
  const place = await ground.create('once');
  const address = store === 'postgres' ? place : `sqlite:${place}`;
  const text = [
    describe(ground.folder, ground.version),
    '',
    ...(await measure(address, store === 'postgres' ? 'Postgres' : 'SQLite')),
    '',
  ].join('\n');
  console.log(text);
  if (flags.record) appendResults(`Workers for one task on ${store === 'postgres' ? 'Postgres' : 'SQLite'}`, text);
}
process.exit(0);

interface Kind {
  readonly args: readonly string[];
  /** Something for it to do; resolves to a way to ask when it was claimed. */
  readonly give: () => Promise<() => Promise<number | undefined>>;
}

interface Timed {
  readonly began: number;
  readonly ms: number;
}

async function measure(address: string, name: string): Promise<string[]> {
  const app = await open(address);
  const backends = address.startsWith('sqlite:')
    ? { type: 'sqlite' as const, sqlite_path: address.slice('sqlite:'.length) }
    : { type: 'postgres' as const, postgres_url: address };
  const pools = await createWorkBackend(backends);
  const settings = `hooks: distributed-worker\n  settings: { heartbeat_interval: 30, backends: ${JSON.stringify(backends)} }`;
  writeFileSync(join(folder, 'job_worker.yml'), JOB_WORKER.replace(/settings:\n\s*heartbeat_interval: 30/, settings));
  const give = async (): Promise<() => Promise<number | undefined>> => {
    const { id } = await app.push(echo, {});
    return async () => (await app.get(id))?.startedAt;
  };
  const kinds: Readonly<Record<string, Kind>> = {
    'a program with the library': { args: ['program.mjs', address], give },
    '`leasehold worker --once`': { args: [bin, 'worker', '--once', '--store', address, '--queue', 'echo'], give },
    'the machine `job_worker`': {
      args: [bin, 'run', '--machine', join(folder, 'job_worker.yml'), '--input', JSON.stringify({ pool_id: POOL })],
      give: async () => {
        const number = Number(await pools.pool(POOL).push({}));
        return async () => (await app.engine.get(number))?.startedAt;
      },
    },
  };
  const bare: number[] = [];
  const claims = new Map(Object.keys(kinds).map((kind) => [kind, [] as number[]]));
  const lives = new Map(Object.keys(kinds).map((kind) => [kind, [] as number[]]));
  // Round 0 fills the cache of compiled code.
  for (let round = 0; round <= ROUNDS; round++) {
    const { ms } = await timed(['-e', '0']);
    if (round > 0) bare.push(ms);
    for (const [kind, { args, give: some }] of Object.entries(kinds)) {
      const claimedAt = await some();
      const life = await timed(args);
      const at = await claimedAt();
      if (at === undefined) throw new Error(`${kind} has not claimed its task`);
      if (round === 0) continue;
      claims.get(kind)?.push(at - life.began);
      lives.get(kind)?.push(life.ms);
    }
  }
  const alone = median(bare).toFixed(0);
  const lines = [
    `| on ${name}, ${ROUNDS} rounds | spawn to first claim, ms | × bare Node | whole life, ms | a second, ${HANDS} at a time |`,
    '|---|---|---|---|---|',
    `| \`node -e 0\` | ${alone} | 1.00 | ${alone} | ${(await rate(['-e', '0'])).toFixed(1)} |`,
  ];
  for (const [kind, { args, give: some }] of Object.entries(kinds)) {
    for (let i = 0; i < HANDS * EACH; i++) await some();
    const ratio = median((claims.get(kind) ?? []).map((ms, i) => ms / (bare[i] as number)));
    const cells = [
      median(claims.get(kind) ?? []).toFixed(0),
      ratio.toFixed(2),
      median(lives.get(kind) ?? []).toFixed(0),
      (await rate(args)).toFixed(1),
    ];
    lines.push(`| ${kind} | ${cells.join(' | ')} |`);
  }
  await pools.close();
  await app.close();
  return lines;
}

/** From the spawn of a process to its end. */
async function timed(args: readonly string[]): Promise<Timed> {
  const began = Date.now();
  const start = performance.now();
  const child = spawn(process.execPath, args, { cwd: folder, env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
  return { began, ms: performance.now() - start };
}

/** Processes a second when each hand starts the next one as soon as the last has ended. */
async function rate(args: readonly string[]): Promise<number> {
  const start = performance.now();
  await Promise.all(
    Array.from({ length: HANDS }, async () => {
      for (let i = 0; i < EACH; i++) await timed(args);
    }),
  );
  return (HANDS * EACH) / ((performance.now() - start) / 1000);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

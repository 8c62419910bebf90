/**
 * `npm run bench:flood`: a node, a worker and a client, with and without 200 connections of somebody who has no token. What
 * must hold: no lease of the worker is lost, and the memory of the node is bounded. What is measured: how long pushes take.
 * `--seconds 5 --rounds 1` is a short form.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '../src/client/client.ts';
import { newSecret } from '../src/operate/secrets.ts';
import { BIN, Running } from '../test/support/leasehold.ts';
import { percentile } from './figures.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '5' },
    record: { type: 'boolean', default: true },
    note: { type: 'string', default: '' },
  },
  allowNegative: true,
});
const SECONDS = Number(flags.seconds);
const ROUNDS = Number(flags.rounds);
const PROCESSES = 2;
const CONNECTIONS = 200;
/** A tenth of the default, so that a stop of the loop would cost leases. */
const LEASE = '3s';
const HELD = 4;
/**
 * The node alone has about 150 MiB, and unfinished bodies may take 128. The rest is garbage of hundreds of MiB read a second, which
 * V8 collects when it likes (with a heap of 100 MiB the peak was 213), and which stays with the process in quiet rounds.
 */
const MOST_MIB = 512;

const ends: (() => unknown)[] = [];
const folder = mkdtempSync(join(tmpdir(), 'leasehold-flood-'));
ends.push(() => rmSync(folder, { recursive: true, force: true }));
const token = newSecret('admin');

function start(args: readonly string[], env: Readonly<Record<string, string>>, nice = 0): ChildProcess {
  const child = spawn('nice', ['-n', String(nice), process.execPath, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  ends.push(() => child.kill('SIGKILL'));
  return child;
}

/** The most memory since the last call, as the kernel has it: a look now and then would miss a peak. */
function peakMib(pid: number): number {
  const line = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return Number(line?.[1] ?? 0) / 1024;
}

interface Round {
  readonly pushes: readonly number[];
  readonly failed: number;
  readonly most: number;
}

/** Pushes one task after the other for a time. */
async function push(client: Client, node: number): Promise<Round> {
  const end = performance.now() + SECONDS * 1000;
  const pushes: number[] = [];
  let failed = 0;
  peakMib(node);
  while (performance.now() < end) {
    const began = performance.now();
    await client.call('pushTasks', { body: { queue: 'flood', handler: 'echo', input: { n: pushes.length } } }).then(
      () => pushes.push(performance.now() - began),
      () => failed++,
    );
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
  return { pushes, failed, most: peakMib(node) };
}

/** What the attackers did in all rounds. A kind of attack that never connected proves nothing, and fails. */
const did = { connections: 0, answers: 0, mib: 0 };
const kinds: Record<string, number> = {};

async function attacked(url: string, work: () => Promise<Round>): Promise<Round> {
  const file = join(import.meta.dirname, 'flood/attacker.ts');
  const attackers = Array.from({ length: PROCESSES }, () =>
    start([file, url, String(CONNECTIONS / PROCESSES)], {}, 19),
  );
  const running = attackers.map((one) => new Running(one as never));
  await Promise.all(running.map((one) => one.says(/ready/)));
  try {
    return await work();
  } finally {
    for (const one of attackers) one.kill('SIGTERM');
    for (const one of running) {
      await one.ended;
      const told = JSON.parse(/\{.*\}/.exec(one.stdout)?.[0] ?? '{}') as Partial<typeof did & { kinds: typeof kinds }>;
      for (const key of ['connections', 'answers', 'mib'] as const) did[key] += told[key] ?? 0;
      for (const [kind, times] of Object.entries(told.kinds ?? {})) kinds[kind] = (kinds[kind] ?? 0) + times;
    }
  }
}

let failed = false;
try {
  const env = { LEASEHOLD_TOKEN: token };
  const up = ['up', '--port', '0', '--no-worker', '--lease-duration', LEASE, '--push-rate', '0'];
  const node = start([BIN, ...up], env);
  const url = await new Running(node as never).address();
  const client = new Client({ url, token });
  ends.push(() => client.close());
  const { secret = '' } = await client.call('createWorker', { body: { name: 'honest' } });
  const worker = ['worker', '--join', url, '--name', 'honest', '--allow', 'shell', '--slots', '8'];
  await new Running(start([BIN, ...worker], { LEASEHOLD_WORKER_SECRET: secret }) as never).says(/./);
  const command = `sleep ${SECONDS * ROUNDS * 2 + 3600}`;
  for (let i = 0; i < HELD; i++)
    await client.call('pushTasks', { body: { queue: 'held', handler: 'shell', input: { command } } });
  const held = async () => (await client.call('listTasks', { query: { queue: ['held'] } })).tasks;
  while ((await held()).some(({ state }) => state !== 'running'))
    await new Promise((resolve) => void setTimeout(resolve, 100));
  const rounds = { quiet: [] as Round[], flood: [] as Round[] };
  for (let i = 0; i < ROUNDS; i++) {
    rounds.quiet.push(await push(client, node.pid as number));
    rounds.flood.push(await attacked(url, () => push(client, node.pid as number)));
  }
  const lost = (await held()).filter(({ state, attempt }) => state !== 'running' || attempt !== 1).length;
  // Of every task, also of short ones: what the reaper of the node has counted.
  const expired = Number(/^leasehold_lease_expired_count_total\S* (\d+)/m.exec(await client.call('metrics'))?.[1]);
  const missing = Object.keys(kinds).filter((kind) => kinds[kind] === 0);
  const most = Math.max(...rounds.flood.map((one) => one.most));
  const p = (which: readonly Round[], percent: number): string =>
    (
      percentile(
        which.map(({ pushes }) => percentile(pushes, percent) ?? Number.NaN),
        50,
      ) ?? Number.NaN
    ).toFixed(1);
  const sum = (which: readonly Round[], of: (round: Round) => number): number =>
    which.reduce((all, one) => all + of(one), 0);
  const row = (name: string, which: readonly Round[]): string =>
    `| ${name} | ${sum(which, ({ pushes }) => pushes.length)} | ${sum(which, (one) => one.failed)} | ${p(which, 50)} | ${p(which, 99)} | ${which.map((one) => one.most.toFixed()).join(', ')} |`;
  const table = [
    `| ${ROUNDS} rounds of ${SECONDS} s each, in turn | pushes | failed | median ms | p99 ms | most MiB of the node, by round |`,
    '|---|---:|---:|---:|---:|---:|',
    row('without an attack', rounds.quiet),
    row(`under ${CONNECTIONS} connections of a stranger`, rounds.flood),
  ].join('\n');
  const verdict = `Leases lost: ${lost} of ${HELD} held through all rounds, ${expired} leases expired at all. Memory: ${most.toFixed()} MiB at most (peak of the kernel), wanted ≤ ${MOST_MIB}. The stranger attacked in ${Object.keys(kinds).length} ways${missing.length === 0 ? '' : ` (never came: ${missing.join(', ')})`}, made ${did.connections} connections, sent ${did.mib.toFixed()} MiB and got ${did.answers} answers.`;
  failed = lost > 0 || expired !== 0 || most > MOST_MIB || missing.length > 0;
  console.log(`\n${table}\n\n${verdict} ${failed ? 'MISSED' : 'met'}.`);
  const machine = describe(folder, 'SQLite');
  if (flags.record)
    appendResults(
      `Flood · ${new Date().toISOString().slice(0, 16)}`,
      machine,
      table,
      verdict,
      ...(flags.note === '' ? [] : [flags.note]),
    );
} finally {
  for (const end of ends.toReversed()) await end();
}
process.exitCode = failed ? 1 : 0;

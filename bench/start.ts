/** What a start costs on the built package: commands against a bare Node, and a worker process that has nothing to do. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { installBundled } from '../build/install.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } });
const ROUNDS = Number(values.rounds);
/** Long enough for the collections after a start. */
const IDLE_MS = 5000;

const WORKER = `
  import { open, task } from 'leasehold';
  const app = await open('sqlite:worker.db');
  await app.worker({ tasks: [task('noop', { run: () => 1 })] }).start();
  const { user, system } = process.cpuUsage();
  console.log((user + system) / 1000);
  setInterval(() => {}, 1 << 30);`;
const BARE = 'console.log(0); setInterval(() => {}, 1 << 30);';

interface Sample {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'leasehold-bench-start-'));
const ended: (() => void)[] = [() => rmSync(folder, { recursive: true, force: true })];
try {
  await main();
} finally {
  for (const end of ended.toReversed()) end();
}

async function main(): Promise<void> {
  const bin = await installBundled(folder);
  writeFileSync(join(folder, 'worker.mjs'), WORKER);
  writeFileSync(join(folder, 'bare.mjs'), BARE);
  const node = spawn(process.execPath, [bin, 'up', '--no-worker', '--port', '0', '--data-dir', 'node'], {
    cwd: folder,
  });
  ended.push(() => node.kill('SIGKILL'));
  await once(node.stdout, 'data');
  const through = ['--data-dir', 'node'];
  const directly = ['--data-dir', 'own'];
  const commands: Readonly<Record<string, readonly string[]>> = {
    'node -e 0': ['-e', '0'],
    'leasehold --version': [bin, '--version'],
    'push, through a node': [bin, 'push', 'q', ...through],
    'tasks list, through a node': [bin, 'tasks', 'list', ...through],
    'push, on SQLite': [bin, 'push', 'q', ...directly],
    'tasks list, on SQLite': [bin, 'tasks', 'list', ...directly],
  };
  // The first start of each writes the compile cache.
  for (const args of Object.values(commands)) measure(args);
  const samples = Object.fromEntries(Object.keys(commands).map((name) => [name, [] as Sample[]]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, args] of Object.entries(commands)) samples[name]?.push(measure(args));
  }
  const bare = samples['node -e 0'] ?? [];
  for (const [name, own] of Object.entries(samples)) {
    say(
      name,
      `${show(own, 'wallMs')} ms (${ratio(own, bare, 'wallMs')} x), CPU ${show(own, 'cpuMs')} ms (${ratio(own, bare, 'cpuMs')} x)`,
    );
  }
  await idle();
}

async function idle(): Promise<void> {
  const rss: Record<string, number[]> = { 'bare.mjs': [], 'worker.mjs': [] };
  const cpu: number[] = [];
  for (let round = 0; round < Math.ceil(ROUNDS / 3); round++) {
    for (const program of ['bare.mjs', 'worker.mjs']) {
      const child = spawn(process.execPath, [program], { cwd: folder });
      const [said] = (await once(child.stdout, 'data')) as [Buffer];
      await sleep(IDLE_MS);
      rss[program]?.push(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024);
      if (program === 'worker.mjs') cpu.push(Number(said.toString()));
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  }
  say('worker process, start', `CPU ${median(cpu).toFixed(0)} ms`);
  say(
    'worker process, idle',
    `${median(rss['worker.mjs'] ?? []).toFixed(0)} MB (a bare Node ${median(rss['bare.mjs'] ?? []).toFixed(0)})`,
  );
}

/** Timed by the shell, which gets the CPU of a child in milliseconds. */
function measure(args: readonly string[]): Sample {
  const timed = `TIMEFORMAT='%U %S %R'; time "$@" >/dev/null`;
  const { status, stderr } = spawnSync('bash', ['-c', timed, 'bash', process.execPath, ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  const [user = 0, system = 0, wall = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { wallMs: wall * 1000, cpuMs: (user + system) * 1000 };
}

type Figure = keyof Sample;

function show(samples: readonly Sample[], figure: Figure): string {
  return median(samples.map((one) => one[figure])).toFixed(0);
}

/** The median of the ratios within a round. */
function ratio(samples: readonly Sample[], bare: readonly Sample[], figure: Figure): string {
  return median(samples.map((one, i) => one[figure] / (bare[i]?.[figure] ?? Number.NaN))).toFixed(2);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}

function say(name: string, text: string): void {
  process.stdout.write(`${name.padEnd(28)} ${text}\n`);
}

/**
 * `npm run bench:path`: what a user's path costs, through the built package: drain and single push, cold and warm apart, and what a task
 * takes of statements, commits and log. The short form that a change to a hot path runs against the commit before:
 *
 *     npm run bench:path -- --against HEAD~1 [--store postgres] [--rounds 5]
 *
 * Both take turns in one run. More statements, commits or bytes of log for a task fail, and so does 15 % more CPU. `--against` is a
 * commit or a checkout. See "The user's path" in README.md.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildInto } from './built.ts';
import { percentile } from './figures.ts';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { COLD_TASKS, type PathFigures } from './path/part.ts';
import { runScene } from './path/scene.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '60000' },
    against: { type: 'string' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

const HERE = join(import.meta.dirname, '..');
const SCENES = ['drain', 'push', 'counted'] as const;
/** Counts are the same in each round, but for when batches happen to end. */
const SAME = 1.02;
const SERVER = 'the server, push and drain together';
const MOST_CPU = 1.15;

const ends: (() => void)[] = [];
process.on('exit', () => ends.forEach((end) => end()));

const onPostgres = flags.store === 'postgres';
const ground = await (onPostgres ? openServer() : openFiles());
ends.push(() => ground.close());
const contenders = [
  { name: 'this', library: built('this', HERE) },
  ...(flags.against === undefined ? [] : [{ name: 'before', library: built('before', checkout(flags.against)) }]),
];

/** By contender and part. */
const found = new Map<string, PathFigures[]>();
let places = 0;
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const scene of SCENES) {
    // In turn, and the other first every second time: what the minutes are like is the same for both.
    for (const { name, library } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const place = await ground.create(`p${places++}`);
      const server = ground.serverMicros();
      const parts = runScene(library, onPostgres ? place : `sqlite:${place}`, scene, flags.tasks);
      const cpuMicros = (ground.serverMicros() - server) / (COLD_TASKS + Number(flags.tasks));
      if (scene === 'drain' && onPostgres) note(name, SERVER, { rate: Number.NaN, cpuMicros });
      for (const [part, figures] of Object.entries(parts)) note(name, part, figures);
      const rates = Object.entries(parts).map(([part, { rate }]) => `${part} ${Math.round(rate)}/s`);
      console.error(`round ${round + 1}: ${name}: ${rates.join(', ')}`);
      await ground.remove(place);
    }
  }
}

const problems: string[] = [];
const lines = [
  `| medians of ${flags.rounds} rounds | /s | CPU µs of the process | statements | commits | log bytes | rate / before | CPU / before |`,
  '|---|---:|---:|---:|---:|---:|---:|---:|',
  ...['drain, cold', 'drain, warm', 'push, cold', 'push, warm'].map(timesRow),
  ...(onPostgres ? [timesRow(SERVER)] : []),
  ...['drain', 'push'].map(countsRow),
];
console.log(`\n${lines.join('\n')}\n`);
for (const problem of problems) console.log(`WORSE: ${problem}`);
if (flags.record) {
  const verdict = problems.map((problem) => `\nWorse: ${problem}.`).join('');
  appendResults(
    `The user's path on ${flags.store} · ${new Date().toISOString().slice(0, 16)}`,
    describe(ground.folder, ground.version),
    lines.join('\n') + verdict,
  );
}
process.exit(problems.length > 0 ? 1 : 0);

function note(name: string, part: string, figures: PathFigures): void {
  const key = `${name} ${part}`;
  found.set(key, [...(found.get(key) ?? []), figures]);
}

function built(name: string, root: string): string {
  console.error(`building ${name}`);
  return join(buildInto(join(ground.folder, `package-${name}`), root), 'index.js');
}

/** A commit gets a checkout of its own, with the dependencies of this one. */
function checkout(named: string): string {
  if (existsSync(join(named, 'package.json'))) return named;
  const folder = join(mkdtempSync(join(tmpdir(), 'leasehold-before-')), 'checkout');
  const git = (...args: string[]): void =>
    void execFileSync('git', args, { cwd: HERE, stdio: ['ignore', 'ignore', 2] });
  git('worktree', 'add', '--detach', folder, named);
  ends.push(() => {
    git('worktree', 'remove', '--force', folder);
    rmSync(join(folder, '..'), { recursive: true, force: true });
  });
  symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

function median(name: string, part: string, of: keyof PathFigures): number {
  return (
    percentile(
      (found.get(`${name} ${part}`) ?? []).map((one) => one[of] ?? Number.NaN),
      50,
    ) ?? Number.NaN
  );
}

/** Round by round: the same minutes for both. */
function ratio(part: string, of: keyof PathFigures): number {
  const before = found.get(`before ${part}`) ?? [];
  const ratios = (found.get(`this ${part}`) ?? []).map(
    (one, n) => (one[of] ?? Number.NaN) / (before[n]?.[of] ?? Number.NaN),
  );
  return percentile(ratios, 50) ?? Number.NaN;
}

function shown(value: number): string {
  return Number.isNaN(value) ? '–' : `×${value.toFixed(2)}`;
}

function timesRow(part: string): string {
  const cpu = ratio(part, 'cpuMicros');
  if (cpu >= MOST_CPU && part.endsWith('warm')) problems.push(`CPU of ${part} ${shown(cpu)}`);
  const rate = median('this', part, 'rate');
  return `| ${part} | ${Number.isNaN(rate) ? '' : Math.round(rate).toLocaleString('en-US')} | ${median('this', part, 'cpuMicros').toFixed(1)} | | | | ${shown(ratio(part, 'rate'))} | ${shown(cpu)} |`;
}

/** Each count with its ratio where there is a commit before. */
function countsRow(part: string): string {
  const cells = (['statements', 'commits', 'walBytes'] as const).map((of) => {
    const than = ratio(part, of);
    if (than > SAME) problems.push(`${of} of ${part} ${shown(than)}`);
    const digits = of === 'walBytes' ? 0 : 3;
    return `${median('this', part, of).toFixed(digits)}${Number.isNaN(than) ? '' : ` (${shown(than)})`}`;
  });
  return `| ${part}, what a task takes | | | ${cells.join(' | ')} | | |`;
}

/**
 * The tests in order of price: `node test/support/ladder.ts short|full [RUNG …]`. Each rung must hold before the next one
 * is tried. The short ladder is `npm test` and must end within ten minutes on two cores; the full one is
 * `npm run test:all`. A file of tests that fails is run once more, alone: if it holds then, the rung holds, and the closing
 * table names the file, so that what fails under load only is seen and mended without holding everybody up.
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters, styleText } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMPILED = join(ROOT, 'node_modules/.cache/leasehold-tests');
const BUDGET_S = 600;
/** More than so many files that fail are no accident. */
const MOST_AGAIN = 3;

type Length = 'short' | 'full';
/** See scale.ts. */
type Scale = Length | 'middle';

interface Rung {
  readonly name: string;
  readonly what: string;
  /** Commands to run one after another; the first word is `node` or a tool in node_modules/.bin. */
  readonly commands: readonly (readonly string[])[];
  /** Not there yet: the file or pattern that matches nothing. */
  readonly missing?: string;
  /** The same in both ladders, so that the full one may leave it out right after the short one. */
  readonly same?: boolean;
  /** Its last command is `node --test` with these options, over these files. */
  readonly tests?: { readonly options: readonly string[]; readonly files: readonly string[] };
}

interface Counts {
  readonly pass: number;
  readonly fail: number;
  readonly skipped: number;
}

interface Result extends Counts {
  readonly name: string;
  readonly verdict: 'passed' | 'FAILED' | 'missing' | 'left out' | 'not tried';
  readonly seconds: number;
  /** Files that held at the second try only. */
  readonly again?: readonly string[];
}

function ladder(length: Length, afterShort: boolean): readonly Rung[] {
  const full = length === 'full';
  // What does not ask for the scale has just been run as it is.
  const scaled = (all: readonly string[]): readonly string[] => (afterShort ? all.filter(asksForScale) : all);
  const test = ['node', '--test', '--test-reporter=spec', `--test-timeout=${full ? 3_600_000 : 120_000}`];
  const rungs: Rung[] = [
    {
      name: 'lint',
      what: 'format, lint, folder boundaries, dead code',
      commands: [['biome', 'check'], ['oxlint'], ['knip']],
      same: true,
    },
    {
      name: 'types',
      what: 'tsc over everything',
      commands: [['tsc'], ['tsc', '-p', 'web'], ['tsc', '-p', 'test/browser']],
      same: true,
    },
    {
      name: 'core',
      what: 'the pure rules, every line and branch of them',
      commands: [
        [
          ...test,
          '--experimental-test-coverage',
          '--test-coverage-include=src/core/**',
          '--test-coverage-exclude=**/*.test.ts',
          '--test-coverage-lines=100',
          '--test-coverage-branches=100',
          '--test-coverage-functions=100',
          ...files('src/core/**/*.test.ts'),
        ],
      ],
      same: true,
    },
    {
      name: 'unit',
      what: 'unit, contract, property and end-to-end tests',
      commands: [],
      tests: {
        options: [...test, '--test-concurrency=3', '--test-global-setup=test/support/servers.ts'],
        files: scaled(files('{src,test,web/src}/**/*.test.ts', /^(src\/core|test\/(chaos|browser|lint\/planted))\//)),
      },
    },
    {
      name: 'browser',
      what: 'the web UI in a real Chromium, before real nodes and workers',
      commands: [['node', 'web/ensure-built.js']],
      tests: { options: [...test, '--test-concurrency=2'], files: scaled(files('test/browser/*.test.ts')) },
    },
    {
      name: 'sim',
      what: 'the real engine on a virtual clock, with faults',
      commands: [['node', 'test/sim/main.ts', '--seeds', full ? (afterShort ? '400' : '1000') : '100']],
      ...(existsSync(join(ROOT, 'test/sim/main.ts')) ? {} : { missing: 'test/sim/main.ts' }),
    },
    {
      name: 'chaos',
      what: 'real processes, killed and starved',
      // One at a time: each of them wants both cores.
      commands: [],
      tests: { options: [...test, '--test-concurrency=1'], files: scaled(files('test/chaos/*.test.ts')) },
    },
  ];
  return rungs;
}

function files(pattern: string, except?: RegExp): readonly string[] {
  return globSync(pattern, { cwd: ROOT })
    .filter((file) => !except?.test(file))
    .toSorted();
}

/** Whether a test reads `scale.ts`, itself or by what it imports. */
function asksForScale(file: string): boolean {
  const seen = new Set<string>();
  const reaches = (path: string): boolean => {
    if (seen.has(path) || !existsSync(path)) return false;
    seen.add(path);
    if (relative(ROOT, path) === 'test/support/scale.ts') return true;
    const imported = readFileSync(path, 'utf8').matchAll(/(?:from|import|import\()\s*['"](\.{1,2}\/[^'"]+\.ts)['"]/g);
    return [...imported].some(([, to]) => reaches(join(dirname(path), to as string)));
  };
  return reaches(join(ROOT, file));
}

const NO_COUNTS: Counts = { pass: 0, fail: 0, skipped: 0 };

async function climb(rung: Rung, scale: Scale): Promise<Result> {
  console.log(heading(`${rung.name}: ${rung.what}`));
  if (rung.missing !== undefined) {
    console.log(`not there yet: ${rung.missing}`);
    return { name: rung.name, verdict: 'missing', seconds: 0, ...NO_COUNTS };
  }
  const startedAt = performance.now();
  let counts = NO_COUNTS;
  let verdict: Result['verdict'] = 'passed';
  for (const command of rung.commands) {
    const { status, output } = await run(command, scale);
    counts = add(counts, readCounts(output));
    if (status === 0) continue;
    console.log(`${command.slice(0, 2).join(' ')} ended with ${status}`);
    verdict = 'FAILED';
    break;
  }
  const tested = verdict === 'passed' && rung.tests !== undefined ? await test(rung.tests, scale) : undefined;
  const seconds = (performance.now() - startedAt) / 1000;
  return { name: rung.name, verdict, seconds, ...counts, ...tested };
}

/** Runs files of tests, and those that fail once more, alone. */
async function test(
  { options, files }: NonNullable<Rung['tests']>,
  scale: Scale,
): Promise<Counts & Pick<Result, 'verdict' | 'again'>> {
  const first = await run([...options, ...files], scale);
  const counts = readCounts(first.output);
  if (first.status === 0) return { ...counts, verdict: 'passed' };
  const failed = failedFiles(first.output);
  if (failed.length === 0 || failed.length > MOST_AGAIN) return { ...counts, verdict: 'FAILED' };
  console.log(heading(`failed, and tried once more: ${failed.join(', ')}`));
  const alone = options.map((option) => (option.startsWith('--test-concurrency') ? '--test-concurrency=1' : option));
  const second = await run([...alone, ...failed], scale);
  if (second.status !== 0) return { ...counts, verdict: 'FAILED' };
  return { ...counts, pass: counts.pass + counts.fail, fail: 0, verdict: 'passed', again: failed };
}

/** As the test runner names them: `test at test/chaos/kill.test.ts:12:3`. None, when one of them stands in a suite that several files run. */
function failedFiles(output: string): readonly string[] {
  const found = stripVTControlCharacters(output).matchAll(/^test at (\S+):\d+:\d+$/gm);
  const named = [...new Set([...found].map(([, file]) => file as string))];
  return named.every((file) => file.endsWith('.test.ts')) ? named : [];
}

/** Runs a command with its output both shown as it comes and kept. */
async function run(command: readonly string[], scale: Scale): Promise<{ status: string | number; output: string }> {
  const [tool = '', ...args] = command;
  const bin = join(ROOT, 'node_modules/.bin');
  const child = spawn(tool === 'node' ? process.execPath : join(bin, tool), args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      // The tools are scripts that ask PATH for their Node.
      PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
      LEASEHOLD_TEST_SCALE: scale,
      // A file of tests loads in half the time when what it imports was compiled for another. It would make coverage less exact.
      ...(args.some((arg) => arg.includes('coverage')) ? {} : { NODE_COMPILE_CACHE: COMPILED }),
      ...(process.stdout.isTTY && process.env.NO_COLOR === undefined ? { FORCE_COLOR: '1' } : {}),
    },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: error.message, output }));
    child.once('close', (code, signal) => resolve({ status: code ?? signal ?? 'nothing', output }));
  });
}

/** The closing lines of the test runner: `ℹ pass 12`. */
function readCounts(output: string): Counts {
  const text = stripVTControlCharacters(output);
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^ℹ ${name} (\\d+)$`, 'gm'))].reduce((total, found) => total + Number(found[1]), 0);
  return { pass: sum('pass'), fail: sum('fail') + sum('cancelled'), skipped: sum('skipped') + sum('todo') };
}

function add(a: Counts, b: Counts): Counts {
  return { pass: a.pass + b.pass, fail: a.fail + b.fail, skipped: a.skipped + b.skipped };
}

function heading(text: string): string {
  return `\n${styleText('bold', `── ${text} ${'─'.repeat(Math.max(0, 90 - text.length))}`)}`;
}

function closingTable(length: Length, results: readonly Result[]): string {
  const total = results.reduce((sum, { seconds }) => sum + seconds, 0);
  const lines = results.map(({ name, verdict, seconds, pass, fail, skipped }) => {
    const counted = pass + fail + skipped > 0 ? `${pass} passed, ${fail} failed, ${skipped} skipped` : '';
    const line = `  ${name.padEnd(8)}${verdict.padEnd(11)}${seconds.toFixed(1).padStart(7)} s   ${counted}`.trimEnd();
    return verdict === 'FAILED' ? styleText('red', line) : line;
  });
  const late =
    length === 'short' && total > BUDGET_S
      ? [`  That is more than the ${BUDGET_S} s which the short ladder may take.`]
      : [];
  const again = results.flatMap(({ again = [] }) => again).map((file) => `  Held at the second try only: ${file}`);
  return [
    heading(`${length} ladder`),
    ...lines,
    ...again,
    `  ${'total'.padEnd(19)}${total.toFixed(1).padStart(7)} s`,
    ...late,
  ].join('\n');
}

function usage(problem: string): never {
  console.error(`${problem}\nUsage: node test/support/ladder.ts short|full [RUNG …]`);
  process.exit(2);
}

async function main(): Promise<void> {
  const [length, ...names] = process.argv.slice(2);
  if (length !== 'short' && length !== 'full') usage(`There is no ladder ${JSON.stringify(length ?? '')}.`);
  // .ci/run sets this when it has just climbed the short ladder in the same checkout.
  const afterShort = length === 'full' && process.env.LEASEHOLD_AFTER_SHORT === '1';
  const rungs = ladder(length, afterShort);
  const unknown = names.find((name) => !rungs.some((rung) => rung.name === name));
  if (unknown !== undefined)
    usage(`There is no rung ${unknown}; there are ${rungs.map(({ name }) => name).join(', ')}.`);
  const chosen = names.length === 0 ? rungs : rungs.filter(({ name }) => names.includes(name));

  const results: Result[] = [];
  for (const rung of chosen) {
    const skip = results.some(({ verdict }) => verdict === 'FAILED') ? 'not tried' : undefined;
    const verdict = skip ?? (afterShort && rung.same ? 'left out' : undefined);
    results.push(
      verdict
        ? { name: rung.name, verdict, seconds: 0, ...NO_COUNTS }
        : await climb(rung, afterShort ? 'middle' : length),
    );
  }
  console.log(closingTable(length, results));
  const failed = results.find(({ verdict }) => verdict === 'FAILED');
  if (failed !== undefined) console.log(`  To try it again: npx node test/support/ladder.ts ${length} ${failed.name}`);
  const { pass, fail } = results.reduce<Counts>(add, NO_COUNTS);
  // A rung without counts, such as lint, fails as one.
  console.log(`\n${pass} passed, ${failed !== undefined ? Math.max(1, fail) : fail} failed`);
  process.exitCode = failed === undefined && fail === 0 ? 0 : 1;
}

await main();

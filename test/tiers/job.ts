/** One process of a tier: a tool, or `node --test` over one file or over several that may share a process. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Outcome, runMeasured, type Spent } from './measured.ts';
import type { Ended, Told } from './reporter.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BIN = join(ROOT, 'node_modules/.bin');
const REPORTER = join(ROOT, 'test/tiers/reporter.ts');
const COMPILED = join(ROOT, 'node_modules/.cache/leasehold-tests');

/** See ../support/scale.ts. */
export type Scale = 'short' | 'middle' | 'full';

export interface Job {
  readonly name: string;
  /** A tool of node_modules/.bin, or `node`, with its arguments; nothing where there are files of tests. */
  readonly tool?: readonly string[];
  readonly files?: readonly string[];
  /** More options of `node --test`. */
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is not that of the tier. */
  readonly scale?: Scale;
}

export interface Counts {
  readonly pass: number;
  readonly fail: number;
  readonly skipped: number;
}

export interface FileSpent extends Spent {
  readonly file: string;
  readonly scale: Scale;
}

export interface JobResult extends Counts, Outcome {
  readonly job: Job;
  readonly ok: boolean;
  /** Why it is not. */
  readonly problem?: string;
  readonly failedFiles: readonly string[];
  readonly spentByFile: readonly FileSpent[];
  /** Why tests were skipped, one for each. */
  readonly skips: readonly string[];
}

/** A test that failed may have left open what keeps its process. After so long without a word from the others, it is ended. */
const SILENT_MS = 300_000;

export async function runJob(job: Job, scaleOfTier: Scale, silentMs = SILENT_MS): Promise<JobResult> {
  const { tool, files = [], options = [], env = {}, scale = scaleOfTier } = job;
  const full = scale !== 'short';
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-tier-'));
  const told = join(folder, 'told');
  const tests = [
    'node',
    '--test',
    '--test-isolation=none',
    `--test-timeout=${full ? 3_600_000 : 120_000}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${REPORTER}`,
    `--test-reporter-destination=${told}`,
    ...options,
    ...files,
  ];
  const [program = '', ...args] = tool ?? tests;
  try {
    const outcome = await runMeasured([program === 'node' ? process.execPath : join(BIN, program), ...args], {
      cwd: ROOT,
      env: environment(scale, args, env),
      atMostMs: full ? 7_200_000 : 1_200_000,
      isStuck: () => isStuck(told, silentMs),
    });
    return judge(job, scale, outcome, tool === undefined ? read(told) : undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function environment(scale: Scale, args: readonly string[], more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...ours } = process.env;
  return {
    ...ours,
    // The tools are scripts that ask PATH for their Node.
    PATH: `${BIN}${delimiter}${process.env.PATH ?? ''}`,
    LEASEHOLD_TEST_SCALE: scale,
    // A file of tests loads in half the time when what it imports was compiled for another. It would make coverage less exact.
    ...(args.some((arg) => arg.includes('coverage')) ? {} : { NODE_COMPILE_CACHE: COMPILED }),
    ...more,
  };
}

function isStuck(told: string, silentMs: number): boolean {
  const silentFor = Date.now() - (statSync(told, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  return silentFor > silentMs && read(told).some(({ type }) => type === 'failed');
}

function read(path: string): readonly Told[] {
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Told);
}

const NONE: Counts = { pass: 0, fail: 0, skipped: 0 };

function judge(job: Job, scale: Scale, outcome: Outcome, told: readonly Told[] | undefined): JobResult {
  const { status, wallS, cpuS } = outcome;
  const whole = [{ file: job.name, scale, wallS, cpuS }];
  if (told === undefined) {
    const problem = status === 0 ? {} : { problem: `ended with ${status}` };
    return { job, ...outcome, ...NONE, ok: status === 0, ...problem, failedFiles: [], spentByFile: whole, skips: [] };
  }
  const files = job.files ?? [];
  const alone = files.length === 1 ? files[0] : undefined;
  const fileOf = (path = ''): string => alone ?? files.find((file) => resolve(ROOT, file) === path) ?? path;
  const { pass, fail, skipped } = told.find((one) => one.type === 'counts') ?? { ...NONE, fail: 1 };
  const ran = told.flatMap((one) => (one.type === 'ended' ? [{ ...one.ended, file: fileOf(one.ended.file) }] : []));
  const silent = files.filter((file) => !ran.some((one) => one.file === file));
  const problem = whatIsWrong(status, told, silent);
  return {
    job,
    ...outcome,
    pass,
    fail: problem === undefined ? fail : Math.max(1, fail),
    skipped,
    ok: problem === undefined,
    ...(problem === undefined ? {} : { problem }),
    failedFiles: [...new Set(told.flatMap((one) => (one.type === 'failed' ? [fileOf(one.file)] : [])))],
    spentByFile: alone === undefined ? byFile(ran, scale, cpuS) : whole,
    skips: told.flatMap((one) => (one.type === 'skipped' ? [one.why] : [])),
  };
}

function whatIsWrong(status: number | string, told: readonly Told[], silent: readonly string[]): string | undefined {
  if (status !== 0) return `ended with ${status}`;
  if (!told.some(({ type }) => type === 'counts')) return 'ended before its tests did';
  // A suite that several files run is named by its own file: what runs one has a process of its own.
  if (silent.length > 0) return `no test was run of ${silent.join(', ')}`;
  return undefined;
}

/** Files of one process have their parts of its CPU by their parts of its time. */
function byFile(ran: readonly Ended[], scale: Scale, cpuS: number): readonly FileSpent[] {
  const total = ran.reduce((sum, { ms }) => sum + ms, 0);
  return [...Map.groupBy(ran, ({ file = '' }) => file)].map(([file, tests]) => {
    const ms = tests.reduce((sum, test) => sum + test.ms, 0);
    return { file, scale, wallS: ms / 1000, cpuS: (cpuS * ms) / Math.max(1, total) };
  });
}

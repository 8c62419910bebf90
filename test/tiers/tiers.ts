/**
 * The three tiers. `test` is what everybody runs, `merge` what CI runs besides, `all` everything at full length, by hand. Stages run one
 * after another, and a stage that fails keeps the later ones from being tried. A tier that uses more CPU than its budget fails: wall time depends on who
 * else is at work on the machine, CPU less, and by as much as the yardstick says.
 */
import { availableParallelism } from 'node:os';
import { chosenBy } from './commit.ts';
import { asksForScale, type Kind, type TestFile, testFiles } from './files.ts';
import type { Job, Scale } from './job.ts';
import { WITH_PROGRAM } from './program.ts';
import { shards } from './shards.ts';
import type { Stage } from './stage.ts';

export interface Tier {
  readonly name: string;
  readonly scale: Scale;
  readonly stages: readonly Stage[];
  /** CPU seconds of the tier and everything that it starts. */
  readonly cpuBudgetS?: number | undefined;
}

/**
 * On two shared arm64 cores on 2026-11-17. `test`: 728 s with nothing beside it, and a quarter; of those checks 64, core 9, units and ten seeds 480, smoke tests 57, the rest their
 * Postgres. `merge`, stage by stage and beside other work: 1,757 s, of which end to end, attacks, properties, interleavings and seeds 1,130, their Postgres 110, browser 146, chaos 369.
 * Later that day the doors were closed: attacks, skew between versions and their units add about 110 s to `test` and 250 s to `merge`.
 * Since 2026-11-19 durable runs, workflows in code, graphs and schedules are tested too: units 683 s with checks and core 776, beside an editor.
 * Later that day loops, agent runs, stored workflows and forks came: `test` 1,130 s with its smoke tests, after 60 s of it went to `merge`.
 * With pools, triggers, launchers and pools of agents `test` took 1,045 s and its smoke tests 80, `merge` about 2,650, beside other work.
 * Then processes were started from a bundle, files that open nodes shared processes, and chaos was halved (measured.md): what these save was measured
 * by files, so the budgets are an eighth and a fifth less until a quiet machine says more.
 */
const CPU_BUDGET_S = { test: 1250, merge: 2600 } as const;

/** One more than there are cores: tests wait for what they have started. */
const AT_ONCE = availableParallelism() + 1;
/** While cores are idle: see stage.ts. */
const MORE = availableParallelism();

const CHECK: Stage = {
  name: 'check',
  what: 'format, lint, folder boundaries, dead code, types',
  atOnce: 2,
  jobs: [
    tool('biome', 'check'),
    tool('oxlint'),
    tool('knip'),
    tool('tsc'),
    tool('tsc', '-p', 'web'),
    tool('tsc', '-p', 'test/browser'),
  ],
};

export const BUILT: Stage = {
  name: 'built',
  what: 'the pages that the browser is shown, where they are not built, and the program that whole processes run',
  atOnce: 2,
  jobs: [tool('node', 'web/ensure-built.js'), tool('node', 'test/tiers/program.ts')],
};

export function tiers(commit: string): readonly Tier[] {
  const all = testFiles();
  const test = all.filter(({ tier }) => tier === 'test');
  const merge = all.filter(({ tier }) => tier === 'merge');
  return [
    { name: 'test', scale: 'short', stages: testStages(test, 10), cpuBudgetS: CPU_BUDGET_S.test },
    {
      name: 'merge',
      scale: 'short',
      stages: mergeStages(merge, seedsOf(commit), commit),
      cpuBudgetS: CPU_BUDGET_S.merge,
    },
    { name: 'all', scale: 'full', stages: [...testStages(test, 10), ...mergeStages(merge, simulator(1000)).slice(1)] },
  ];
}

function testStages(files: readonly TestFile[], seeds: number): readonly Stage[] {
  return [
    CHECK,
    { name: 'core', what: 'the pure rules, every line and branch of them', atOnce: 1, jobs: [core(of(files, 'core'))] },
    {
      name: 'unit',
      what: 'units, and the contracts of stores and links',
      atOnce: AT_ONCE,
      more: MORE,
      jobs: [
        ...shared(of(files, 'shared')),
        ...shared(of(files, 'served')),
        ...own(of(files, 'own')),
        simulator(seeds),
      ],
    },
    BUILT,
    {
      name: 'smoke',
      what: 'end to end and in a browser, the first steps',
      atOnce: AT_ONCE,
      more: MORE,
      jobs: built(of(files, 'smoke')),
    },
  ];
}

function mergeStages(files: readonly TestFile[], seeds: Job, commit?: string): readonly Stage[] {
  return [
    BUILT,
    {
      name: 'rest',
      what: 'end to end, attacks, properties, interleavings, different ages, guides, the simulator',
      atOnce: AT_ONCE,
      more: MORE,
      jobs: [seeds, ...built(of(files, 'rest')).map((job) => ofCommit(job, commit))],
    },
    {
      name: 'browser',
      what: 'the web UI in a real Chromium, before real nodes and workers',
      atOnce: 2,
      more: MORE,
      jobs: built(of(files, 'browser')),
    },
    // One at a time, and another while it waits for leases to expire: most of them want both cores.
    { name: 'chaos', what: 'real processes, killed and starved', atOnce: 1, more: 1, jobs: built(of(files, 'chaos')) },
  ];
}

function of(files: readonly TestFile[], kind: Kind): readonly string[] {
  return files.filter((one) => one.kind === kind).map(({ file }) => file);
}

function tool(...command: readonly string[]): Job {
  return { name: command.join(' '), tool: command };
}

export function simulator(seeds: number, from = 1): Job {
  return tool('node', 'test/sim/main.ts', '--seeds', String(seeds), '--from', String(from));
}

function core(files: readonly string[]): Job {
  const least = ['lines', 'branches', 'functions'].map((what) => `--test-coverage-${what}=100`);
  const which = ['--test-coverage-include=src/core/**', '--test-coverage-exclude=**/*.test.ts'];
  return { name: 'src/core', files, options: ['--experimental-test-coverage', ...which, ...least] };
}

export function own(files: readonly string[]): readonly Job[] {
  return files.map((file) => ({ name: file, files: [file] }));
}

/** Files whose processes are of the bundled program. */
export function built(files: readonly string[]): readonly Job[] {
  return own(files).map((job) => ({ ...job, env: WITH_PROGRAM }));
}

/** Others than the tier `test` has tried: fifty of the first thousand, which the commit chooses. The share of `all` has the first hundred, which must reach everything. */
function seedsOf(commit: string): Job {
  const [first, count, windows] = [51, 50, 19];
  return simulator(count, first + count * (chosenBy(commit, windows) - 1));
}

/** The quarter of the planted defects that the commit chooses. */
function ofCommit(job: Job, commit: string | undefined): Job {
  if (commit === undefined || job.name !== 'test/sim/defects.test.ts') return job;
  return { ...job, env: { ...job.env, LEASEHOLD_TEST_DEFECTS: `${chosenBy(commit, 4)}/4` } };
}

function shared(files: readonly string[]): readonly Job[] {
  // What does more at full length has a process of its own there, and so here.
  const [alone, together] = [files.filter(asksForScale), files.filter((file) => !asksForScale(file))];
  return [...own(alone), ...shards(together, AT_ONCE)];
}

/** Which tier a file of tests belongs to, and whether it may share a process with others. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from './imports.ts';
import { ROOT } from './job.ts';

/** Everything that is not named here runs with `npm test`: whoever adds a file need not know of tiers until the budget says so. */
const MERGE: readonly RegExp[] = [
  /^test\/(attacks|browser|chaos|e2e|properties|skew)\//,
  /^test\/sim\/(machines\/driver-)?defects\.test\.ts$/,
  // Two sessions in every order of their statements: 40 s of CPU, and as many of Postgres.
  /^src\/store\/postgres\/interleavings\.test\.ts$/,
  // A bucket that fails in every way, with parts of real size: 20 s of CPU.
  /^src\/artifacts\/s3\/faults\.test\.ts$/,
  // What proves a whole once more, on each way or after each crash: their parts have tests of their own. 150 s of time, 60 s of CPU.
  /^src\/worker\/(machine\/durable\/both-drivers|machine\/persistence\/crash|workflow\/crashes|links\/wire)\.test\.ts$/,
  /^src\/(store\/postgres\/pooler|app\/upkeep\/upkeep-move|compat\/universal-agent\/(runtime-db|missions|pool\/(pool|gateway-handler))|app\/pools\/(registration|work)-backend)\.test\.ts$/,
  // Servers, strangers and deaths: worktrees, rules and addresses have tests of their own.
  /^src\/(workspace\/(crash|credential|hostile)|worker\/loop\/cloned-run)\.test\.ts$/,
];

/** Of those folders what runs with `npm test` all the same: a user's first minute on each way in. */
const SMOKE: ReadonlySet<string> = new Set([
  'test/browser/story.test.ts',
  'test/e2e/cli/cli-push.test.ts',
  'test/e2e/entry.test.ts',
  'test/e2e/examples.test.ts',
  'test/e2e/exit.test.ts',
  'test/e2e/guides/guide-postgres.test.ts',
  'test/e2e/up.test.ts',
]);

/** What tests of `src` share: named as tests so that they are not built into the package, and without any. */
export const HELPERS: ReadonlySet<string> = new Set([
  'src/worker/handlers/try-out.test.ts',
  'src/worker/durable/durable-trial.test.ts',
  'src/worker/runner/process/process-trial.test.ts',
]);

/** Of chaos what waits for leases to expire and measures no time: it goes beside the others. */
const UNHURRIED =
  /^test\/chaos\/((agents|graphs|triggers|fleet|workspaces)\/|(workflows\/kill-after-commits|machines\/crash-everywhere|compat\/mission|postgres-answers)\.test)/;

export type Kind = 'core' | 'shared' | 'served' | 'own' | 'smoke' | 'rest' | 'browser' | 'chaos';

export interface TestFile {
  readonly file: string;
  readonly tier: 'test' | 'merge';
  readonly kind: Kind;
}

let found: readonly TestFile[] | undefined;

export function testFiles(): readonly TestFile[] {
  return (found ??= findFiles());
}

function findFiles(): readonly TestFile[] {
  const planted = /^test\/lint\/planted\//;
  const files = globSync('{src,test,web/src}/**/*.test.ts', { cwd: ROOT }).filter(
    (file) => !planted.test(file) && !HELPERS.has(file),
  );
  return files.toSorted().map((file) => {
    const tier = !SMOKE.has(file) && MERGE.some((pattern) => pattern.test(file)) ? 'merge' : 'test';
    return { file, tier, kind: kindOf(file, tier) };
  });
}

function kindOf(file: string, tier: 'test' | 'merge'): Kind {
  if (UNHURRIED.test(file)) return 'rest';
  if (tier === 'merge')
    return (/^test\/(browser|chaos)\//.exec(file)?.[1] as 'browser' | 'chaos' | undefined) ?? 'rest';
  if (file.startsWith('src/core/')) return 'core';
  if (SMOKE.has(file)) return 'smoke';
  if (mayShare(file)) return 'shared';
  return mayShareServers(file) ? 'served' : 'own';
}

/** What starts a process or a server, or talks to one, has a process of its own; so has a suite, whose tests stand in another file. */
const ALONE = /^(node:(child_process|worker_threads|http|https|net|cluster)|fastify|pg|ws)$/;

function mayShare(file: string): boolean {
  if (!/^(src|web)\//.test(file) || file.includes('/conformance/')) return false;
  // The engine's tests have stores in their own process, whose code knows of threads that they do not start.
  if (file.startsWith('src/engine/')) return true;
  return ![...importsOf(join(ROOT, file)).modules].some((name) => ALONE.test(name));
}

/** They look at the whole process: its memory, its folder, who else closes a store in it, what is traced; they do nothing but wait, or are told times. */
const WHOLE_PROCESS: ReadonlySet<string> = new Set([
  'src/app/data/data-folder.test.ts',
  'src/app/node.test.ts',
  'src/app/tracing/tracing.test.ts',
  'src/operate/workflows/triggers.test.ts',
  'src/server/routes/events.test.ts',
  'src/worker/links/cut-off.test.ts',
  // Threads that do not start.
  'src/worker/worker.test.ts',
]);

/**
 * What opens nodes, servers and links within its own process shares one with its like: to load a node costs 1 s of CPU, as much as most of these
 * files do with it. Who starts a process by itself has one.
 */
function mayShareServers(file: string): boolean {
  if (!/^src\/(app|cli|client|compat|operate|server|worker)\//.test(file) || WHOLE_PROCESS.has(file)) return false;
  const text = readFileSync(join(ROOT, file), 'utf8');
  // A suite has its tests in another file, which would not tell who ran them.
  if (/from 'node:(child_process|worker_threads)'|-contract\.ts'/.test(text)) return false;
  const { modules } = importsOf(join(ROOT, file));
  return ['fastify', 'pg', 'ws'].some((name) => modules.has(name));
}

const SCALE = join(ROOT, 'test/support/scale.ts');

/** Whether a test does more at full length: whether it reads `scale.ts`, itself or by what it imports. */
export function asksForScale(file: string): boolean {
  return importsOf(join(ROOT, file)).files.has(SCALE);
}

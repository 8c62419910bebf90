/**
 * A stage of a tier: its jobs, so many at once and more while cores are idle, the longest first. What fails is run once more, alone: if it holds then, the stage
 * holds, and the closing table names the file, so that what fails under load only is seen and mended without holding everybody up.
 */
import { styleText } from 'node:util';
import { costOf } from './costs.ts';
import { idleFor } from './idle.ts';
import { type Counts, type FileSpent, type Job, type JobResult, runJob, type Scale } from './job.ts';

export interface Stage {
  readonly name: string;
  readonly what: string;
  readonly jobs: readonly Job[];
  readonly atOnce: number;
  /** So many more where cores are idle: most tests wait for processes, disks and times to pass. */
  readonly more?: number;
}

const LOOK_MS = 3000;
/** Of the time of all cores. Where a job that is added needs it after all, the others take longer, and no more are added. */
const IDLE_ENOUGH = 0.4;

export interface StageResult extends Counts {
  readonly name: string;
  readonly verdict: 'passed' | 'FAILED' | 'not tried';
  readonly wallS: number;
  readonly cpuS: number;
  readonly spentByFile: readonly FileSpent[];
  readonly skips: readonly string[];
  /** Files that held at the second try only. */
  readonly again: readonly string[];
}

/** More than so many files that fail are no accident. */
const MOST_AGAIN = 3;

export async function runStage(stage: Stage, scale: Scale, idle = () => idleFor(LOOK_MS)): Promise<StageResult> {
  console.log(heading(`${stage.name}: ${stage.what}`));
  const startedAt = performance.now();
  const waiting = stage.jobs.toSorted((a, b) => cost(b, scale) - cost(a, scale));
  const results: JobResult[] = [];
  const run = async (job: Job): Promise<void> => {
    const result = await runJob(job, scale);
    results.push(result);
    tell(result);
  };
  const work = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await run(job);
  };
  await Promise.all([...Array.from({ length: stage.atOnce }, work), addWhileIdle(stage, waiting, run, idle)]);
  const failed = results.filter(({ ok }) => !ok);
  const again = failed.length === 0 ? [] : await tryAgain(failed, scale);
  const held = again.length > 0 && again.every(({ ok }) => ok);
  const fail = held ? 0 : sum(results, ({ fail }) => fail);
  return {
    name: stage.name,
    verdict: failed.length === 0 || held ? 'passed' : 'FAILED',
    wallS: (performance.now() - startedAt) / 1000,
    cpuS: sum([...results, ...again], ({ cpuS }) => cpuS),
    pass: sum(results, ({ pass }) => pass) + (held ? sum(results, ({ fail }) => fail) : 0),
    fail: failed.length > 0 && !held ? Math.max(1, fail) : fail,
    skipped: sum(results, ({ skipped }) => skipped),
    spentByFile: results.flatMap(({ spentByFile }) => spentByFile),
    skips: results.flatMap(({ skips }) => skips),
    again: held ? again.map(({ job }) => job.name) : [],
  };
}

/** Jobs beyond those at once, one after each look that finds cores idle. */
async function addWhileIdle(
  { more = 0 }: Stage,
  waiting: Job[],
  run: (job: Job) => Promise<void>,
  idle: () => Promise<number>,
): Promise<void> {
  let added = 0;
  const runs: Promise<void>[] = [];
  while (more > 0 && waiting.length > 0) {
    const isIdle = (await idle()) >= IDLE_ENOUGH;
    const job = isIdle && added < more ? waiting.shift() : undefined;
    if (job === undefined) continue;
    added++;
    runs.push(run(job).finally(() => added--));
  }
  await Promise.all(runs);
  if (runs.length > 0) console.log(`  ${runs.length} of these were started beside the others while cores were idle.`);
}

/** The failed files, each alone; none where a failure has no file or there are too many. */
async function tryAgain(failed: readonly JobResult[], scale: Scale): Promise<readonly JobResult[]> {
  const jobs = failed.flatMap(({ job, failedFiles }): readonly (Job | undefined)[] => {
    if (job.files?.length === 1) return [job];
    if (job.files === undefined || failedFiles.length === 0) return [undefined];
    return failedFiles.map((file) =>
      job.files?.includes(file) && job.options === undefined ? { ...job, name: file, files: [file] } : undefined,
    );
  });
  const known = jobs.filter((job) => job !== undefined);
  if (known.length < jobs.length || known.length > MOST_AGAIN) return [];
  console.log(heading(`failed, and tried once more: ${known.map(({ name }) => name).join(', ')}`));
  const results: JobResult[] = [];
  for (const job of known) {
    const result = await runJob(job, scale);
    results.push(result);
    tell(result);
  }
  return results;
}

function cost({ name, files = [], scale }: Job, scaleOfTier: Scale): number {
  return sum(files.length > 1 ? files : [name], (one) => costOf(one, scale ?? scaleOfTier));
}

function tell({ job, ok, problem, output, wallS, cpuS, pass, fail, skipped }: JobResult): void {
  const counted = [
    `${pass} passed`,
    ...(fail > 0 ? [`${fail} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  const spent = `${wallS.toFixed(1).padStart(6)} s ${cpuS.toFixed(1).padStart(6)} s CPU`;
  const line = `${ok ? '✔' : '✖'} ${spent}  ${job.name}${job.files === undefined ? '' : `: ${counted.join(', ')}`}`;
  if (ok) return console.log(line);
  console.log(`${styleText('red', line)}: ${problem}`);
  // The failures are told once more at the end of the output.
  const failures = output.lastIndexOf('failing tests:');
  const told = failures === -1 ? output.replaceAll(/^\s*✔.*\n/gm, '') : output.slice(failures);
  console.log(told.slice(-40_000));
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

export function heading(text: string): string {
  return `\n${styleText('bold', `── ${text} ${'─'.repeat(Math.max(0, 90 - text.length))}`)}`;
}

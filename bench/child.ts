/** One process of the benchmark: `child.ts CONTENDER JOB FILE ARGS-AS-JSON`, started by `processes.ts`, answers over IPC. */
import type { Queue } from './contenders/contender.ts';
import { contender } from './contenders/index.ts';
import { jobs, libraryJobs } from './jobs/index.ts';
import { Line, type Report } from './jobs/line.ts';
import { warm } from './jobs/warm.ts';

/** Jobs whose speed is measured. */
const WARMED: ReadonlySet<string> = new Set(['push', 'drain', 'echo', 'receive', 'send', 'timer']);

type Job<On> = (on: On, args: unknown, line: Line) => Promise<unknown>;

const [name = '', job = '', file = '', args = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit(1)); // the bench is gone: leave nothing behind
process.send?.(await outcome(), () => process.exit(0));

async function outcome(): Promise<Report> {
  try {
    return { kind: 'result', value: await run(JSON.parse(args), new Line()) };
  } catch (error) {
    return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

async function run(given: unknown, line: Line): Promise<unknown> {
  const onFile = (libraryJobs as Record<string, Job<string> | undefined>)[job];
  if (onFile) return await onFile(file, given, line);
  const onQueue = (jobs as Record<string, Job<Queue> | undefined>)[job];
  if (!onQueue) throw new Error(`no job "${job}"`);
  if (WARMED.has(job)) await warm(contender(name), file);
  const queue = await contender(name).open(file);
  const value = await onQueue(queue, given, line);
  await queue.close();
  return value;
}

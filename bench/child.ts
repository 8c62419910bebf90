/** One process of the benchmark: `child.ts STORE CONTENDER JOB PLACE ARGS-AS-JSON`, started by `processes.ts`, answers over IPC. */
import type { Queue } from './contenders/contender.ts';
import { contenderOf, type StoreName } from './contenders/index.ts';
import { jobs, libraryJobs } from './jobs/index.ts';
import { Line, type Report } from './jobs/line.ts';
import { warm } from './jobs/warm.ts';

/** Jobs whose speed is measured. */
const WARMED: ReadonlySet<string> = new Set(['push', 'drain', 'echo', 'receive', 'send', 'timer']);

type Job<On> = (on: On, args: unknown, line: Line) => Promise<unknown>;

const [store, name = '', job = '', place = '', args = ''] = process.argv.slice(2);
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
  if (onFile) return await onFile(place, given, line);
  const onQueue = (jobs as Record<string, Job<Queue> | undefined>)[job];
  if (!onQueue) throw new Error(`no job "${job}"`);
  const contender = await contenderOf(store as StoreName, name);
  if (WARMED.has(job)) await warm(contender, await warmPlace());
  const queue = await contender.open(place);
  const value = await onQueue(queue, given, line);
  await queue.close();
  return value;
}

/** It goes when the place itself goes: see `ground/`. */
async function warmPlace(): Promise<string> {
  if (store === 'hub') return (await import('./contenders/hub/place.ts')).warmPlaceOf(place);
  if (store !== 'postgres') return `${place}-warm-${process.pid}`;
  const { beside } = await import('./ground/databases.ts');
  return await beside(place, `warm_${process.pid}`);
}

/** One process of the benchmark: `child.ts CONTENDER JOB FILE ARGS-AS-JSON`, started by `processes.ts`, answers over IPC. */
import type { Queue } from './contenders/contender.ts';
import { contender } from './contenders/index.ts';
import { jobs } from './jobs/index.ts';
import { Line, type Report } from './jobs/line.ts';
import { warm } from './jobs/warm.ts';

/** Jobs whose speed is measured. */
const WARMED: ReadonlySet<string> = new Set(['push', 'drain', 'echo', 'receive', 'send']);

type Job = (queue: Queue, args: unknown, line: Line) => Promise<unknown>;

const [name = '', job = '', file = '', args = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit(1)); // the bench is gone: leave nothing behind
process.send?.(await outcome(), () => process.exit(0));

async function outcome(): Promise<Report> {
  try {
    const line = new Line();
    if (WARMED.has(job)) await warm(contender(name), file);
    const queue = await contender(name).open(file);
    const run = (jobs as Record<string, Job | undefined>)[job];
    if (!run) throw new Error(`no job "${job}"`);
    const value = await run(queue, JSON.parse(args), line);
    await queue.close();
    return { kind: 'result', value };
  } catch (error) {
    return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

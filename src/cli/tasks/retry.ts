import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import { eachOf, LONG_MS, pagesOfTasks, retryOne, retryTree } from '../../operate/calls/calls.ts';
import type { Operator } from '../../operate/operator.ts';
import type { TaskState } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { progressFor } from '../kit/progress-for.ts';
import { ID } from './id.ts';
import { requireAll, requireTree, runTree } from './tree.ts';

/** `leasehold tasks retry ID…`, or all tasks of a queue in a final state. */
export const retry: Command = {
  name: 'tasks retry',
  doc: 'Run finished tasks again, with a full budget of tries',
  args: [{ ...ID, many: true, optional: true }],
  options: ['queue', 'state', 'tree', 'dryRun', 'yes', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tasks retry 42', does: 'one task' },
    { line: 'tasks retry 42 --tree', does: 'the task and all that depends on it, except completed ones' },
    { line: 'tasks retry --queue papers --state failed', does: 'everything that failed in a queue, after a question' },
  ],

  run(args) {
    const { config, args: ids } = loadCall(retry, args);
    checkTogether(config, ids);
    const out = outFor(config);
    return withOperator(config, (operator) => {
      if (config.tree) return retryTrees(operator, config, ids);
      return ids.length > 0 ? retryThese(operator, ids, out) : retryAll(operator, config, out);
    });
  },
};

async function retryThese(operator: Operator, ids: readonly string[], out: Out): Promise<number> {
  const answers = await eachOf(operator, ids, retryOne);
  for (const [i, answer] of answers.entries()) {
    const id = ids[i] as string;
    if (out.mode === 'json') out.json({ id, answer });
    else out.line(`${id} ${wordsFor(answer)}`);
  }
  if (answers.includes('unknown')) return EXIT.notFound;
  return answers.every((answer) => answer === 'again') ? EXIT.fine : EXIT.failed;
}

async function retryTrees(operator: Operator, config: Config, ids: readonly string[]): Promise<number> {
  await requireAll(operator, ids);
  let blocked = 0;
  for (const id of ids) {
    const { counts } = await runTree(config, id, {
      verb: 'run again',
      words: {
        again: 'run again',
        kept: 'completed, kept',
        unfinished: 'not ended, left alone',
        blocked: 'left alone, for something else that they need has failed',
      },
      wouldWords: {
        again: 'would be run again',
        kept: 'completed, kept',
        unfinished: 'not ended, left alone',
        blocked: 'left alone, for something else that they need has failed',
      },
      run: (options) => retryTree(operator, id, options),
    });
    blocked += counts.blocked;
  }
  return blocked > 0 ? EXIT.failed : EXIT.fine;
}

function wordsFor(answer: string): string {
  if (answer === 'again') return 'is ready again';
  if (answer === 'unknown') return 'not found';
  return `is ${answer}: only a finished task can be run again`;
}

async function retryAll(operator: Operator, config: Config, out: Out): Promise<number> {
  const [queue] = config.queue as [string];
  const { state: states } = config;
  await operator.call('getQueue', { params: { queue } });
  let found = 0;
  for await (const page of pagesOfTasks(operator, { queue: [queue], state: states }, Number.POSITIVE_INFINITY)) {
    found += page.length;
  }
  const what = `${formatCount(found)} ${states.join(' and ')} tasks of ${queue}`;
  if (config.dryRun || found === 0) {
    if (out.mode === 'json') out.json({ queue, states, retried: 0, found, dryRun: config.dryRun });
    else
      out.line(
        found === 0 ? `There are no ${what.replace(/^0 /, '')}.` : `Would run ${what} again; nothing was changed.`,
      );
    return EXIT.fine;
  }
  if (!(await confirm({ ask: `Run ${what} again?`, word: queue }, config))) {
    out.note('Nothing was changed.');
    return EXIT.failed;
  }
  const progress = progressFor(config, 'retried', found);
  try {
    const part = { states: states.flatMap((state) => (isEnd(state) ? [state] : [])), expected: ANY, limit: BATCH };
    for (let cursor: string | undefined; ; ) {
      const ask = { params: { queue }, body: { ...part, cursor }, timeoutMs: LONG_MS };
      const some = await operator.call('retryQueue', ask);
      progress.add(some.retried);
      cursor = some.cursor;
      if (cursor === undefined) break;
    }
  } finally {
    progress.end();
  }
  if (out.mode === 'json') out.json({ queue, states, retried: progress.done, found, dryRun: false });
  else
    out.line(
      `${formatCount(progress.done)} ${progress.done === 1 ? 'task' : 'tasks'} of ${queue} ${progress.done === 1 ? 'is' : 'are'} ready again.`,
    );
  return EXIT.fine;
}

const BATCH = 250;
/** No expected number: the user has confirmed, and tasks that ended meanwhile are meant too. */
const ANY = Number.MAX_SAFE_INTEGER;

function isEnd(state: TaskState): state is 'failed' | 'cancelled' | 'completed' {
  return state === 'failed' || state === 'cancelled' || state === 'completed';
}

function checkTogether(config: Config, ids: readonly string[]): void {
  const { queue, state } = config;
  const all = queue.length > 0 || state.length > 0;
  if (ids.length > 0 && !all) {
    requireTree(config, 'Add --tree to see what depends on the task, or leave --dry-run out.');
    return;
  }
  const hint = 'Name tasks by their ids, or all of a queue: --queue QUEUE --state failed.';
  if (ids.length > 0) {
    throw fault(
      'INVALID_INPUT',
      { field: 'command line', problem: 'ids and a queue are given; give one of them' },
      { hint },
    );
  }
  if (config.tree) {
    throw fault('INVALID_INPUT', { field: '--tree', problem: 'it needs the id of a task' }, { hint });
  }
  if (queue.length !== 1 || state.length === 0) {
    throw fault(
      'INVALID_INPUT',
      { field: 'command line', problem: 'it does not say which tasks to run again' },
      { hint },
    );
  }
  const unfinished = state.find((one) => !isEnd(one));
  if (unfinished !== undefined) {
    throw fault('INVALID_INPUT', { field: '--state', problem: `a ${unfinished} task has not ended` }, { hint });
  }
}

import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { LONG_MS } from '../../operate/calls/calls.ts';
import type { Operator } from '../../operate/operator.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { progressFor } from '../kit/progress-for.ts';

const BATCH = 250;
/** No expected number: the user has confirmed, and tasks that came meanwhile are meant too. */
const ANY = Number.MAX_SAFE_INTEGER;

/** `leasehold queues purge QUEUE`. */
export const purge: Command = {
  name: 'queues purge',
  doc: 'Cancel all waiting tasks of a queue; running tasks go on',
  args: [{ name: 'QUEUE', doc: 'The queue' }],
  options: ['dryRun', 'yes', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'queues purge papers --dry-run', does: 'how many tasks that would be' },
    { line: 'queues purge papers --yes', does: 'do it without asking, as a script must' },
  ],

  run(args) {
    const { config, args: words } = loadCall(purge, args);
    const [name] = words as [string];
    return withOperator(config, (operator) => purgeQueue(operator, name, config));
  },
};

async function purgeQueue(operator: Operator, name: string, config: Config): Promise<number> {
  const out = outFor(config);
  const say = (queue: string, cancelled: number, dryRun: boolean, words: string): number => {
    if (out.mode === 'json') out.json({ queue, cancelled, dryRun });
    else out.line(words);
    return EXIT.fine;
  };
  const before = await operator.call('getQueue', { params: { queue: name } });
  const waiting = before.ready + before.scheduled;
  const what = `${formatCount(before.ready)} ready and ${formatCount(before.scheduled)} scheduled tasks`;
  if (config.dryRun) return say(name, waiting, true, `Would cancel ${what} of ${name}; nothing was changed.`);
  if (waiting === 0) return say(name, 0, false, `Nothing waits in ${name}.`);
  const ask = `Cancel ${what} of ${name}?`;
  if (!(await confirm({ ask, word: name }, config))) {
    out.note('Nothing was changed.');
    return EXIT.failed;
  }
  const { cancelled, asked } = await cancelWaiting(operator, name, waiting, config);
  const after = await operator.call('getQueue', { params: { queue: name } });
  const left = after.ready + after.scheduled;
  const words = [`Cancelled ${formatCount(cancelled)} tasks of ${name}.`];
  if (asked > 0) words.push(`${formatCount(asked)} were claimed at that moment and are asked to stop.`);
  if (left > 0) words.push(`${formatCount(left)} came meanwhile and wait now.`);
  return say(name, cancelled, false, words.join(' '));
}

/** Cancels from the newest down: tasks that are pushed meanwhile are newer, and stay. */
async function cancelWaiting(
  operator: Operator,
  name: string,
  total: number,
  config: Config,
): Promise<{ readonly cancelled: number; readonly asked: number }> {
  const progress = progressFor(config, 'cancelled', total);
  let asked = 0;
  try {
    for (let cursor: string | undefined; ; ) {
      const body = { expected: ANY, limit: BATCH, cursor };
      const some = await operator.call('purgeQueue', { params: { queue: name }, body, timeoutMs: LONG_MS });
      progress.add(some.cancelled);
      asked += some.asked;
      cursor = some.cursor;
      if (cursor === undefined) break;
    }
  } finally {
    progress.end();
  }
  return { cancelled: progress.done, asked };
}

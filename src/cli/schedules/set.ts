import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { parseInline } from '../tasks/push-inputs.ts';
import { timesText } from './words.ts';

/** `leasehold schedules set NAME QUEUE [JSON]`. */
export const set: Command = {
  name: 'schedules set',
  doc: 'Create a schedule, or replace the one of that name',
  args: [
    { name: 'NAME', doc: 'The schedule; created if it does not exist' },
    { name: 'QUEUE', doc: 'The queue of its tasks' },
    { name: 'JSON', doc: 'The input of its tasks, {} if there is none', optional: true },
  ],
  options: [
    'cron',
    'every',
    'at',
    'daily',
    'weekly',
    'monthly',
    'timezone',
    'missed',
    'handler',
    'priority',
    'maxAttempts',
    'timeout',
    ...OPERATOR_OPTIONS,
  ],
  examples: [
    { line: 'schedules set nightly reports --daily 03:00 --timezone Europe/Berlin', does: 'each night at three there' },
    { line: `schedules set poll feeds '{"all": true}' --every 15m`, does: 'each quarter of an hour' },
    {
      line: `schedules set weekdays mail --cron '0 9 * * mon-fri' --missed skip`,
      does: 'a time that nobody could fire is left out',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(set, args);
    const [name, queue, text] = words as [string, string, string?];
    const { cron, every, at, daily, weekly, monthly, timezone, missed, handler, priority, maxAttempts, timeout } =
      config;
    const hint = `Quote it for the shell: leasehold schedules set NAME QUEUE '{"key": "value"}' --daily 03:00.`;
    const task = { handler, priority, maxAttempts, timeout };
    const body = { name, queue, cron, every, at, daily, weekly, monthly, timezone, missed, ...task };
    const out = outFor(config);
    const schedule = await withOperator(
      config,
      (operator) =>
        operator.call('putSchedule', { body: { ...body, input: text === undefined ? {} : parseInline(text, hint) } }),
      { create: true },
    );
    if (out.mode === 'json') out.json(schedule);
    else {
      const { state, nextAt } = schedule;
      const when = nextAt === undefined ? `it is ${state}` : `next ${formatWhen(nextAt, Date.now())}`;
      out.line(`Set ${name}: ${timesText(schedule)}; ${when}.`);
    }
    return EXIT.fine;
  },
};

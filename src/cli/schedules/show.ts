import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { describeSchedule } from './words.ts';

/** `leasehold schedules show NAME`. */
export const show: Command = {
  name: 'schedules show',
  doc: 'Show one schedule: its next fire times, and what became of the last ones',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'schedules show nightly', does: 'when it fires next, and the tasks of the last times' },
    { line: 'schedules show nightly --json', does: 'the same, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [name] = words as [string];
    const out = outFor(config);
    const schedule = await withOperator(config, (operator) => operator.call('getSchedule', { params: { name } }));
    if (out.mode === 'json') out.json(schedule);
    else for (const line of describeSchedule(schedule, out, Date.now())) out.line(line);
    return EXIT.fine;
  },
};

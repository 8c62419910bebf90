import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold schedules next NAME`. */
export const next: Command = {
  name: 'schedules next',
  doc: 'Print the next fire times of a schedule, one a line',
  args: [NAME],
  options: ['times', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'schedules next nightly', does: 'the next five' },
    { line: 'schedules next nightly --times 30', does: 'a month of them' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(next, args);
    const [name] = words as [string];
    const out = outFor(config);
    const schedule = await withOperator(config, (operator) =>
      operator.call('getSchedule', { params: { name }, query: { next: config.times } }),
    );
    const now = Date.now();
    if (out.mode === 'json') out.json({ name, state: schedule.state, next: schedule.next });
    else
      for (const at of schedule.next)
        out.line(out.mode === 'screen' ? formatWhen(at, now) : new Date(at).toISOString());
    if (out.mode === 'screen' && schedule.state !== 'active') {
      out.note(
        schedule.state === 'paused' ? `${name} is paused; these are if it is resumed now.` : `${name} has ended.`,
      );
    }
    return EXIT.fine;
  },
};

import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { timesText } from './words.ts';

/** `leasehold schedules remove NAME`. */
export const remove: Command = {
  name: 'schedules remove',
  doc: 'Remove a schedule with its history; its tasks stay',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'schedules remove nightly', does: 'its times are printed, in case they are wanted back' },
    { line: 'schedules remove nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('removeSchedule', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`Removed ${name}; it was: ${timesText(answer)}.`);
    return EXIT.fine;
  },
};

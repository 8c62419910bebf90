import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold schedules pause NAME`. */
export const pause: Command = {
  name: 'schedules pause',
  doc: 'Pause a schedule: it fires nothing until it is resumed, and misses nothing',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'schedules pause nightly', does: 'what it would have fired meanwhile is not made up for' },
    { line: 'schedules pause nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(pause, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('pauseSchedule', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`Paused ${name}.`);
    return EXIT.fine;
  },
};

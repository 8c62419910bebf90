import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold schedules run NAME`. */
export const run: Command = {
  name: 'schedules run',
  doc: 'Push the task of a schedule now; its fire times stay as they are',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'schedules run nightly', does: 'prints the id of the task' },
    { line: 'schedules run nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(run, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('runSchedule', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(out.mode === 'plain' ? answer.id : `Pushed ${out.paint('bold', answer.id)} of ${name}.`);
    return EXIT.fine;
  },
};

import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold workflows remove NAME`. */
export const remove: Command = {
  name: 'workflows remove',
  doc: 'Remove a stored workflow with its versions and schedules; its runs stay',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workflows remove nightly', does: '"workflows apply" stores it anew, from version 1' },
    { line: 'workflows remove nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('removeWorkflow', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`Removed ${name}, which had version ${answer.version}.`);
    return EXIT.fine;
  },
};

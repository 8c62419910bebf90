import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { standText } from './words.ts';
/** `leasehold workflows enable NAME`. */
export const enable: Command = {
  name: 'workflows enable',
  doc: 'Let the triggers of a stored workflow start runs; what is past due starts at once',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workflows enable nightly', does: 'its schedules go on' },
    { line: 'workflows enable nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(enable, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('enableWorkflow', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`${name} is ${standText(answer, Date.now())}.`);
    return EXIT.fine;
  },
};

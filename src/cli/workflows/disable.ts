import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { standText } from './words.ts';
/** `leasehold workflows disable NAME`. */
export const disable: Command = {
  name: 'workflows disable',
  doc: 'Let the triggers of a stored workflow start nothing more; its runs go on',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workflows disable nightly', does: 'its schedules are paused' },
    { line: 'workflows disable nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(disable, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('disableWorkflow', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`${name} is ${standText(answer, Date.now())}.`);
    return EXIT.fine;
  },
};

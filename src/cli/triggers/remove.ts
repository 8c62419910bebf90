import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { actionText, sourceText } from './words.ts';

/** `leasehold triggers remove NAME`. */
export const remove: Command = {
  name: 'triggers remove',
  doc: 'Remove a trigger with its history; its tasks stay',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers remove paid', does: 'what it did is printed, in case it is wanted back' },
    { line: 'triggers remove paid --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('removeTrigger', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`Removed ${name}; it was: ${sourceText(answer)}; ${actionText(answer)}.`);
    return EXIT.fine;
  },
};

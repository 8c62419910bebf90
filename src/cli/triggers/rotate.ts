import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { tellSecret } from './words.ts';

/** `leasehold triggers rotate NAME`. */
export const rotate: Command = {
  name: 'triggers rotate',
  doc: 'Give a webhook another secret, which holds at once',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers rotate paid', does: 'the old secret signs nothing any more' },
    { line: 'triggers rotate paid --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(rotate, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('rotateTrigger', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else tellSecret(out, answer);
    return EXIT.fine;
  },
};

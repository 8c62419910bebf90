import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold triggers disable NAME`. */
export const disable: Command = {
  name: 'triggers disable',
  doc: 'Turn a trigger off: nothing fires it but somebody who asks for it',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers disable paid', does: 'its history stays' },
    { line: 'triggers disable paid --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(disable, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('disableTrigger', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`Turned ${name} off.`);
    return EXIT.fine;
  },
};

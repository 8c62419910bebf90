import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold triggers enable NAME`. */
export const enable: Command = {
  name: 'triggers enable',
  doc: 'Turn a trigger on; what happened while it was off is not made up for',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers enable paid', does: 'it goes on with what happens from now on' },
    { line: 'triggers enable paid --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(enable, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('enableTrigger', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else out.line(`Turned ${name} on.`);
    return EXIT.fine;
  },
};

import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, printHolders, tell } from './words.ts';

/** `leasehold credentials show NAME`. */
export const show: Command = {
  name: 'credentials show',
  doc: 'Show one credential with each of its holders, and why one does not have it',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'credentials show github', does: 'who may hold it, who does, in which version' },
    { line: 'credentials show github --json', does: 'the same, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [name] = words as [string];
    const out = outFor(config);
    const credential = await withOperator(config, (operator) => operator.call('getCredential', { params: { name } }));
    if (out.mode === 'json') out.json(credential);
    else {
      tell(out, credential);
      if (credential.holders.length > 0) printHolders(out, credential.holders, Date.now());
    }
    return EXIT.fine;
  },
};

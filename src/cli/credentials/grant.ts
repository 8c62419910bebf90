import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { choiceOf, NAME, requireSomebody, tell } from './words.ts';

/** `leasehold credentials grant NAME`. */
export const grant: Command = {
  name: 'credentials grant',
  doc: 'Give a credential to more workers, or demand how they keep it',
  args: [NAME],
  options: ['credentialWorker', 'credentialTag', 'credentialLevel', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'credentials grant github --worker builder', does: 'that worker is sent it now, or when it comes' },
    { line: 'credentials grant github --level keyring', does: 'workers that keep it more openly lose it' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(grant, args);
    const [name] = words as [string];
    if (config.credentialLevel === undefined) requireSomebody(config, 'give it to');
    const body = choiceOf(config);
    const out = outFor(config);
    const put = await withOperator(config, (operator) =>
      operator.call('grantCredential', { params: { name }, body, by: actingUser(undefined) }),
    );
    if (out.mode === 'json') out.json(put);
    else tell(out, put);
    return EXIT.fine;
  },
};

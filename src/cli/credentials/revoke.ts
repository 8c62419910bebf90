import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { choiceOf, NAME, requireSomebody, tell } from './words.ts';

/** `leasehold credentials revoke NAME`. */
export const revoke: Command = {
  name: 'credentials revoke',
  doc: 'Take a credential away from workers',
  args: [NAME],
  options: ['credentialWorker', 'credentialTag', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'credentials revoke github --worker builder', does: 'it runs no more tasks that need it from now on' },
    { line: 'credentials revoke github --tag ci', does: 'all that have it by that tag' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(revoke, args);
    const [name] = words as [string];
    requireSomebody(config, 'take it from');
    const { level: _, ...body } = choiceOf(config);
    const out = outFor(config);
    const put = await withOperator(config, (operator) =>
      operator.call('revokeCredential', { params: { name }, body, by: actingUser(undefined) }),
    );
    if (out.mode === 'json') out.json(put);
    else tell(out, put);
    return EXIT.fine;
  },
};

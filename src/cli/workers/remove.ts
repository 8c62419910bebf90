import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, workerNames } from './name.ts';

/** `leasehold workers remove NAME`. */
export const remove: Command = {
  name: 'workers remove',
  doc: 'Refuse a worker from now on, and forget the settings of its name',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workers remove old-laptop', does: 'its secret ends, and its connection within a second' },
    { line: 'workers remove old-laptop --json', does: 'with the number of secrets that have ended' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = workerNames(words) as [string];
    const out = outFor(config);
    const { secrets } = await withOperator(config, (operator) =>
      operator.call('removeWorker', { params: { name }, by: actingUser(undefined) }),
    );
    if (out.mode === 'json') out.json({ name, secrets });
    else out.line(`${name} is removed${secrets === 0 ? '; it had no secret that was good' : ''}.`);
    return EXIT.fine;
  },
};

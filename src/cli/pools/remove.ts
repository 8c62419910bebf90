import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './words.ts';

/** `leasehold pools remove POOL`. */
export const remove: Command = {
  name: 'pools remove',
  doc: 'Remove a pool: its workers stay, those still to come are refused',
  args: [NAME],
  options: ['by', ...OPERATOR_OPTIONS],
  examples: [
    {
      line: 'pools remove papers',
      does: 'its tasks stay in their queues; "pools set --no-enabled" sends workers home before',
    },
    { line: 'pools remove papers --json', does: 'with what it was, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const pool = await withOperator(config, (operator) =>
      operator.call('removePool', { params: { name }, by: actingUser(config.by) }),
    );
    if (out.mode === 'json') out.json(pool);
    else out.line(`Removed the pool ${name}.`);
    return EXIT.fine;
  },
};

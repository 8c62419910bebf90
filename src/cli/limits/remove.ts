import { loadCall } from '../../config/load.ts';
import { boundsText } from '../display/limit-words.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold limits remove NAME`. */
export const remove: Command = {
  name: 'limits remove',
  doc: 'Remove a limit: tasks that wait for it run without it, new ones that name it are refused',
  args: [NAME],
  options: ['by', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'limits remove openai', does: 'its bounds are printed, and stay in its history' },
    { line: 'limits remove openai --by deploy-42', does: 'under another name than that of the user' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const limit = await withOperator(config, (operator) =>
      operator.call('removeLimit', { params: { name }, by: actingUser(config.by) }),
    );
    if (out.mode === 'json') out.json({ ...limit, removed: true });
    else {
      const { waiting } = limit;
      const tasks = waiting === 1 ? '1 ready task waits' : `${waiting} ready tasks wait`;
      const waits = waiting === 0 ? '' : ` ${tasks} for it no longer.`;
      out.line(`Removed ${name}; it was: ${boundsText(limit)}.${waits}`);
    }
    return EXIT.fine;
  },
};

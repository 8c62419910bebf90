import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { holdersWords, NAME } from './words.ts';

/** `leasehold credentials remove NAME`. */
export const remove: Command = {
  name: 'credentials remove',
  doc: 'Remove a credential: its value here at once, and at its holders as soon as they hear of it',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'credentials remove github', does: 'tasks that need it wait from now on' },
    { line: 'credentials remove github --json', does: 'it, as it was' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const before = await withOperator(config, (operator) => operator.call('removeCredential', { params: { name } }));
    if (out.mode === 'json') out.json({ ...before, removed: true });
    else if (before.holders.every(({ status }) => status === 'removed')) out.line(`Removed ${name}, which nobody had.`);
    else
      out.line(
        `Removed ${name}. Its holders were: ${holdersWords(before)}; each removes its copy when it hears of it.`,
      );
    return EXIT.fine;
  },
};

import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import type { Operator } from '../../operate/operator.ts';
import type { CredentialView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { holdersWords, NAME } from './words.ts';

/** `leasehold credentials remove NAME`. */
export const remove: Command = {
  name: 'credentials remove',
  doc: 'Remove a credential: its value here at once, and at its holders as soon as they hear of it',
  args: [NAME],
  options: ['dryRun', 'yes', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'credentials remove github', does: 'its name has to be typed; tasks that need it wait from then on' },
    { line: 'credentials remove github --yes', does: 'do it without asking, as a script must' },
  ],

  run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    return withOperator(config, (operator) => removeCredential(operator, name, config));
  },
};

async function removeCredential(operator: Operator, name: string, config: Config): Promise<number> {
  const out = outFor(config);
  const there = await operator.call('getCredential', { params: { name } });
  const holders = holdersWords(there);
  if (config.dryRun) {
    if (out.mode === 'json') out.json({ ...there, removed: false });
    else out.line(`Would remove ${name}, version ${there.version}. Its holders: ${holders}. Nothing was changed.`);
    return EXIT.fine;
  }
  const ask = `Remove ${name}? Its value is gone then. Its holders: ${holders}.`;
  if (!(await confirm({ ask, word: name }, config))) {
    out.note('Nothing was changed.');
    return EXIT.failed;
  }
  const before = await operator.call('removeCredential', { params: { name }, by: actingUser(undefined) });
  if (out.mode === 'json') out.json({ ...before, removed: true });
  else if (!before.holders.some(isHolder)) out.line(`Removed ${name}, which nobody had.`);
  else
    out.line(`Removed ${name}. Its holders were: ${holdersWords(before)}; each removes its copy when it hears of it.`);
  return EXIT.fine;
}

const isHolder = ({ status }: CredentialView['holders'][number]): boolean => status !== 'removed';

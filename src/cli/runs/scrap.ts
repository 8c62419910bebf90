import { loadCall } from '../../config/load.ts';
import { LONG_MS } from '../../operate/calls/calls.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs scrap RUN`. */
export const scrap: Command = {
  name: 'runs scrap',
  doc: 'Remove the worktree and the branch of a loop that has ended, with all that it has changed',
  args: [RUN],
  options: ['yes', 'by', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'runs scrap count-it', does: 'asks for the word; what was merged is not scrapped' },
    { line: 'runs scrap 42 --yes', does: 'without being asked' },
  ],

  run(args) {
    const { config, args: words } = loadCall(scrap, args);
    const [id] = words as [string];
    const out = outFor(config);
    return withOperator(config, async (operator) => {
      const run = await operator.call('getRun', { params: { id } });
      const name = safeLine(run.name ?? run.id);
      const ask = `Remove the branch of ${name} and its worktree, with all that it has changed?`;
      if (!(await confirm({ ask, word: 'scrap', onlyDoes: true }, config))) {
        out.note('Nothing was changed.');
        return EXIT.failed;
      }
      await operator.call('scrapLoop', { params: { id: run.id }, by: actingUser(config.by), timeoutMs: LONG_MS });
      if (out.mode === 'json') out.json({ run: run.id, scrapped: true });
      else out.line(`Scrapped ${name}: its worktree and its branch are gone.`);
      return EXIT.fine;
    });
  },
};

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

/** `leasehold runs merge RUN`. */
export const merge: Command = {
  name: 'runs merge',
  doc: 'Merge the branch of a loop that has ended or is paused into its target',
  args: [RUN],
  options: ['head', 'yes', 'by', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'runs merge count-it', does: 'by the strategy of the run, or as a merge where that is none' },
    { line: 'runs merge 42 --head 3f7c…', does: 'only what was looked at with runs diff' },
    { line: 'runs merge 42 --yes', does: 'without being asked; again it says the same commit' },
  ],

  run(args) {
    const { config, args: words } = loadCall(merge, args);
    const [id] = words as [string];
    const out = outFor(config);
    return withOperator(config, async (operator) => {
      const run = await operator.call('getRun', { params: { id } });
      const name = safeLine(run.name ?? run.id);
      if (
        !(await confirm({ ask: `Merge the branch of ${name} into its target?`, word: 'merge', onlyDoes: true }, config))
      ) {
        out.note('Nothing was changed.');
        return EXIT.failed;
      }
      const by = actingUser(config.by);
      const query = config.head === undefined ? {} : { head_ref: config.head };
      const { commit } = await operator.call('mergeLoop', { params: { id: run.id }, query, by, timeoutMs: LONG_MS });
      if (out.mode === 'json') out.json({ run: run.id, commit });
      else out.line(`Merged ${name}: its target is at ${commit}.`);
      return EXIT.fine;
    });
  },
};

import type { Operator } from '../../app/operate.ts';
import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import type { Command } from '../command.ts';
import { outFor } from '../display/out.ts';
import { EXIT } from '../exit.ts';
import { STORE_OPTIONS, withStore } from '../with-store.ts';
import { ID } from './id.ts';
import { requireTree, runTree } from './tree.ts';

const WORDS = {
  cancelled: 'cancelled',
  requested: 'asked to stop; its worker hears of it with its next look',
  finished: 'had ended before; nothing was changed',
  unknown: 'not found',
} as const;

/** `leasehold tasks cancel ID…`. */
export const cancel: Command = {
  name: 'tasks cancel',
  doc: 'End tasks that wait, and ask the workers of those that run to stop',
  args: [{ ...ID, many: true }],
  options: ['tree', 'dryRun', ...STORE_OPTIONS],
  examples: [
    { line: 'tasks cancel 42', does: 'one task' },
    { line: 'tasks cancel 42 --tree --dry-run', does: 'what would be cancelled with it' },
    {
      line: 'tasks list --queue papers | cut -f1 | xargs leasehold tasks cancel',
      does: 'what a list shows; "queues purge" empties a queue',
    },
  ],

  async run(args) {
    const { config, args: ids } = loadCall(cancel, args);
    requireTree(config, 'Add --tree to see what hangs on the task, or leave --dry-run out.');
    return withStore(config, (operator) => {
      // All ids are read before anything is changed.
      const tasks = ids.map((id) => operator.numberOf(id));
      return config.tree ? cancelTrees(operator, config, ids, tasks) : cancelThese(operator, config, ids, tasks);
    });
  },
};

async function cancelThese(operator: Operator, config: Config, ids: readonly string[], tasks: readonly number[]) {
  const out = outFor(config);
  const answers = await operator.cancel(tasks);
  for (const [i, answer] of answers.entries()) {
    const id = ids[i] as string;
    if (out.mode === 'json') out.json({ id, answer });
    else out.line(`${id} ${WORDS[answer]}`);
  }
  return answers.includes('unknown') ? EXIT.notFound : EXIT.fine;
}

async function cancelTrees(operator: Operator, config: Config, ids: readonly string[], tasks: readonly number[]) {
  for (const [i, task] of tasks.entries()) {
    await runTree(config, ids[i] as string, {
      verb: 'cancelled',
      words: { cancelled: 'cancelled', requested: 'asked to stop', finished: 'had ended before' },
      wouldWords: { cancelled: 'would be cancelled', requested: 'would be asked to stop', finished: 'ended before' },
      run: (options) => operator.cancelTree(task, options),
    });
  }
  return EXIT.fine;
}

import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { cancelOne, cancelTree, eachOf } from '../../operate/calls/calls.ts';
import type { Operator } from '../../operate/operator.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { ID } from './id.ts';
import { requireAll, requireTree, runTree } from './tree.ts';

const WORDS = {
  cancelled: 'cancelled',
  requested: 'asked to stop; its worker sees it within a second',
  finished: 'had ended before; nothing was changed',
  unknown: 'not found',
} as const;

/** `leasehold tasks cancel ID…`. */
export const cancel: Command = {
  name: 'tasks cancel',
  doc: 'Cancel tasks: waiting ones end at once, and the workers of running ones are asked to stop',
  args: [{ ...ID, many: true }],
  options: ['tree', 'dryRun', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tasks cancel 42', does: 'one task' },
    { line: 'tasks cancel 42 --tree --dry-run', does: 'what would be cancelled with it' },
    {
      line: 'tasks list --queue papers | cut -f1 | xargs leasehold tasks cancel',
      does: 'the tasks of a list; "queues purge" empties a queue',
    },
  ],

  async run(args) {
    const { config, args: ids } = loadCall(cancel, args);
    requireTree(config, 'Add --tree to see what depends on the task, or leave --dry-run out.');
    return withOperator(config, (operator) =>
      config.tree ? cancelTrees(operator, config, ids) : cancelThese(operator, config, ids),
    );
  },
};

async function cancelThese(operator: Operator, config: Config, ids: readonly string[]): Promise<number> {
  const out = outFor(config);
  const answers = await eachOf(operator, ids, cancelOne);
  for (const [i, answer] of answers.entries()) {
    const id = ids[i] as string;
    if (out.mode === 'json') out.json({ id, answer });
    else out.line(`${id} ${WORDS[answer]}`);
  }
  return answers.includes('unknown') ? EXIT.notFound : EXIT.fine;
}

async function cancelTrees(operator: Operator, config: Config, ids: readonly string[]): Promise<number> {
  await requireAll(operator, ids);
  for (const id of ids) {
    await runTree(config, id, {
      verb: 'cancelled',
      words: { cancelled: 'cancelled', requested: 'asked to stop', finished: 'had ended before' },
      wouldWords: { cancelled: 'would be cancelled', requested: 'would be asked to stop', finished: 'ended before' },
      run: (options) => cancelTree(operator, id, options),
    });
  }
  return EXIT.fine;
}

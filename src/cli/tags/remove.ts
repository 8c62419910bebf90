import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { stillText, TAG } from './words.ts';

/** `leasehold tags remove TAG`. */
export const remove: Command = {
  name: 'tags remove',
  doc: 'Remove a tag that is not used, or with --force take it from its workers',
  args: [TAG],
  options: ['takeTag', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tags remove gpu', does: 'refused while a worker has it, or a task or a definition asks for it' },
    { line: 'tags remove gpu --force', does: 'taken from all workers that were given it' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = words as [string];
    const out = outFor(config);
    const ask = { params: { name }, query: config.takeTag ? { force: '1' as const } : {}, by: actingUser(undefined) };
    const removed = await withOperator(config, (operator) => operator.call('removeTag', ask));
    if (out.mode === 'json') {
      out.json(removed);
      return EXIT.fine;
    }
    const { changed, still } = removed;
    const from = changed.length === 0 ? '' : ` It was taken from ${changed.map(safeLine).join(', ')}.`;
    out.line(`Removed the tag ${safeLine(name)}.${from}`);
    for (const line of stillText(name, still)) out.note(line);
    return EXIT.fine;
  },
};

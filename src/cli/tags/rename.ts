import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { stillText, TAG } from './words.ts';

/** `leasehold tags rename TAG NEW`. */
export const rename: Command = {
  name: 'tags rename',
  doc: 'Give a tag another name, at all workers that were given it',
  args: [TAG, { name: 'NEW', doc: 'Its new name, which no tag has' }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'tags rename gpu cuda', does: 'all workers that were given gpu carry cuda within a second' },
    { line: 'tags rename gpu cuda --json', does: 'as an object: changed workers, and what still names gpu' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(rename, args);
    const [name, to] = words as [string, string];
    const out = outFor(config);
    const renamed = await withOperator(config, (operator) =>
      operator.call('renameTag', { params: { name }, body: { name: to }, by: actingUser(undefined) }),
    );
    if (out.mode === 'json') {
      out.json(renamed);
      return EXIT.fine;
    }
    const { changed, still } = renamed;
    const where = changed.length === 0 ? 'no worker was given it' : `changed ${changed.map(safeLine).join(', ')}`;
    out.line(`${safeLine(name)} is ${safeLine(to)} now: ${where}.`);
    for (const line of stillText(name, still)) out.note(line);
    return EXIT.fine;
  },
};

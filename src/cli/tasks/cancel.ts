import { loadCall } from '../../config/load.ts';
import type { Command } from '../command.ts';
import { outFor } from '../display/out.ts';
import { EXIT } from '../exit.ts';
import { STORE_OPTIONS, withStore } from '../with-store.ts';
import { ID } from './id.ts';

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
  options: STORE_OPTIONS,
  examples: [
    { line: 'tasks cancel 42', does: 'one task' },
    {
      line: 'tasks list --queue papers | cut -f1 | xargs leasehold tasks cancel',
      does: 'what a list shows; "queues purge" empties a queue',
    },
  ],

  async run(args) {
    const { config, args: ids } = loadCall(cancel, args);
    const out = outFor(config);
    const answers = await withStore(config, (operator) =>
      // All ids are read before anything is changed.
      operator.cancel(ids.map((id) => operator.numberOf(id))),
    );
    for (const [i, answer] of answers.entries()) {
      const id = ids[i] as string;
      if (out.mode === 'json') out.json({ id, answer });
      else out.line(`${id} ${WORDS[answer]}`);
    }
    return answers.includes('unknown') ? EXIT.notFound : EXIT.fine;
  },
};

import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { describeTrigger } from './words.ts';

/** `leasehold triggers show NAME`. */
export const show: Command = {
  name: 'triggers show',
  doc: 'Show one trigger with its last firings',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers show paid', does: 'where its webhook goes, and what its last deliveries became' },
    { line: 'triggers show paid --json', does: 'the same, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [name] = words as [string];
    const out = outFor(config);
    const [trigger, { history }] = await withOperator(config, (operator) =>
      Promise.all([
        operator.call('getTrigger', { params: { name } }),
        operator.call('triggerHistory', { params: { name }, query: { limit: 20 } }),
      ]),
    );
    if (out.mode === 'json') out.json({ ...trigger, history });
    else for (const line of describeTrigger(trigger, history, out)) out.line(line);
    return EXIT.fine;
  },
};

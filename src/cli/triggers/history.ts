import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { firingLine } from './words.ts';

/** `leasehold triggers history NAME`. */
export const history: Command = {
  name: 'triggers history',
  doc: 'Print what became of the last firings of a trigger, the newest first',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers history paid', does: 'the last hundred' },
    { line: 'triggers history paid --json', does: 'one firing a line, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(history, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('triggerHistory', { params: { name } }));
    for (const one of answer.history) {
      if (out.mode === 'json') out.json(one);
      else out.line(firingLine(one));
    }
    return EXIT.fine;
  },
};

import { loadCall } from '../../config/load.ts';
import { describeLimit } from '../display/limit-page.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold limits show NAME`. */
export const show: Command = {
  name: 'limits show',
  doc: 'Show one limit: what each of its keys has, and who changed it',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'limits show openai', does: 'what is in use, which keys are full or paused, its last changes' },
    { line: 'limits show openai --json', does: 'the same, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [name] = words as [string];
    const out = outFor(config);
    const limit = await withOperator(config, (operator) => operator.call('getLimit', { params: { name } }));
    if (out.mode === 'json') out.json(limit);
    else for (const line of describeLimit(limit, out, Date.now())) out.line(line);
    return EXIT.fine;
  },
};

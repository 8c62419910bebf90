import { loadCall } from '../../config/load.ts';
import { describeExplanation } from '../display/explain-page.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { ID } from './id.ts';

/** `leasehold tasks explain ID`. */
export const explain: Command = {
  name: 'tasks explain',
  doc: 'Explain why a task does not run: its queue, its limits, and what keeps each worker from it',
  args: [ID],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'tasks explain 42', does: 'a summary first, then everything that decides a claim' },
    { line: "tasks explain 42 --json | jq '.workers[] | select(.eligible | not)'", does: 'for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(explain, args);
    const [id] = words as [string];
    const out = outFor(config);
    const why = await withOperator(config, (operator) => operator.call('explainTask', { params: { id } }));
    if (out.mode === 'json') out.json(why);
    else for (const line of describeExplanation(why, out, Date.now())) out.line(line);
    return EXIT.fine;
  },
};

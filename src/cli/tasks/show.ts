import { loadCall } from '../../config/load.ts';
import { isReference, wholeResult } from '../../operate/large-result.ts';
import { outFor } from '../display/out.ts';
import { describeTask } from '../display/task-page.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { ID } from './id.ts';

/** `leasehold tasks show ID`. */
export const show: Command = {
  name: 'tasks show',
  doc: 'Show everything about one task, and what to do next',
  args: [ID],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'tasks show 42', does: 'the task of that number in this store' },
    {
      line: 'tasks show task_0198c0de-7a5e-7000-8000-000000aa1b2c --json',
      does: 'by its public id, with its attempts, for programs',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [id] = words as [string];
    const out = outFor(config);
    const task = await withOperator(config, async (operator) => {
      const found = await operator.call('getTask', { params: { id } });
      return isReference(found.result) ? { ...found, result: await wholeResult(operator, found.result) } : found;
    });
    if (out.mode === 'json') out.json(task);
    else for (const line of describeTask(task, out, Date.now())) out.line(line);
    return EXIT.fine;
  },
};

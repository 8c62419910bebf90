import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

/** `leasehold queues resume QUEUE`. */
export const resume: Command = {
  name: 'queues resume',
  doc: 'Allow claims from a paused queue again',
  args: [{ name: 'QUEUE', doc: 'The queue' }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'queues resume papers', does: 'workers claim from it at once' },
    { line: 'queues resume papers --json', does: 'and prints the queue, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(resume, args);
    const [name] = words as [string];
    const out = outFor(config);
    const queue = await withOperator(config, (operator) => operator.call('resumeQueue', { params: { queue: name } }));
    if (out.mode === 'json') out.json(queue);
    else out.line(`Resumed ${name}: ${queue.ready} tasks are ready.`);
    return EXIT.fine;
  },
};

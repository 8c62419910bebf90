import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

/** `leasehold queues pause QUEUE`. */
export const pause: Command = {
  name: 'queues pause',
  doc: 'Stop claims from a queue; running tasks go on',
  args: [{ name: 'QUEUE', doc: 'The queue; created if it does not exist, so that it can start paused' }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'queues pause papers', does: 'hold its tasks while a problem is fixed' },
    { line: 'queues pause nightly && leasehold push nightly --file jobs.ndjson', does: 'fill a queue before it runs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(pause, args);
    const [name] = words as [string];
    const out = outFor(config);
    const queue = await withOperator(config, (operator) => operator.call('pauseQueue', { params: { queue: name } }));
    if (out.mode === 'json') out.json(queue);
    else
      out.line(
        `Paused ${name}: ${queue.ready} ready and ${queue.scheduled} scheduled tasks wait, ${queue.running} run on.`,
      );
    return EXIT.fine;
  },
};

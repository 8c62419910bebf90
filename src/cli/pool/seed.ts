import { loadCall } from '../../config/load.ts';
import { pushSeveral } from '../../operate/calls/push-calls.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from '../pools/words.ts';
import { parseInline } from '../tasks/push-inputs.ts';

const HINT = `Quote it for the shell: leasehold pool seed POOL '{"delay_ms": 500}' --count 10.`;
const PER_PUSH = 1000;

/** `leasehold pool seed POOL [JSON]`. */
export const seed: Command = {
  name: 'pool seed',
  doc: 'Add tasks to the queue of a pool, to try it out',
  args: [NAME, { name: 'JSON', doc: 'The input of each task, {} if there is none', optional: true }],
  options: ['seeds', 'handler', 'maxAttempts', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'pool seed papers --count 10', does: 'ten tasks for the handler echo, which says what it is told' },
    { line: `pool seed papers '{"delay_ms": 500}' --count 100`, does: 'each takes half a second' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(seed, args);
    const [queue, text] = words as [string, string?];
    const out = outFor(config);
    const input = text === undefined ? {} : parseInline(text, HINT);
    const { handler = 'echo' } = config;
    const task = { queue, handler, input, maxAttempts: config.maxAttempts };
    await withOperator(
      config,
      async (operator) => {
        for (let left = config.seeds; left > 0; left -= PER_PUSH)
          await pushSeveral(
            operator,
            Array.from({ length: Math.min(left, PER_PUSH) }, () => task),
          );
      },
      { create: true },
    );
    if (out.mode === 'json') out.json({ pool: queue, pushed: config.seeds });
    else out.line(`Added ${config.seeds} tasks for ${handler} to ${queue}.`);
    return EXIT.fine;
  },
};

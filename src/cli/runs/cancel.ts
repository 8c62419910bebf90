import { loadCall } from '../../config/load.ts';
import { LONG_MS } from '../../operate/calls/calls.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs cancel RUN`. */
export const cancel: Command = {
  name: 'runs cancel',
  doc: 'Cancel a run with all its tasks, and keep the reason',
  args: [RUN],
  options: ['cancelReason', 'decidedBy', ...OPERATOR_OPTIONS],
  examples: [
    { line: `runs cancel nightly/7 --reason 'wrong data'`, does: 'the reason is shown with the run' },
    { line: 'runs cancel 42', does: 'by the number of its task' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(cancel, args);
    const [id] = words as [string];
    const out = outFor(config);
    const { cancelReason, decidedBy } = config;
    const run = await withOperator(config, (operator) =>
      operator.call('cancelRun', {
        params: { id },
        body: cancelReason === undefined ? {} : { reason: cancelReason },
        by: actingUser(decidedBy),
        timeoutMs: LONG_MS,
      }),
    );
    if (out.mode === 'json') out.json(run);
    else out.line(`${safeLine(run.name ?? run.id)} ${wordsFor(run.state)}`);
    return EXIT.fine;
  },
};

function wordsFor(state: string): string {
  if (state === 'cancelled') return 'cancelled';
  if (state === 'completed' || state === 'failed') return `had ended before: ${state}; nothing was changed`;
  return 'asked to stop; its worker sees it within a second';
}

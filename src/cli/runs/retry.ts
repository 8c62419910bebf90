import { loadCall } from '../../config/load.ts';
import { LONG_MS } from '../../operate/calls/calls.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs retry RUN`. */
export const retry: Command = {
  name: 'runs retry',
  doc: 'Go on with a run that failed or was cancelled, where it stopped',
  args: [RUN],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'runs retry nightly/7', does: 'what has completed keeps its results' },
    { line: 'runs retry 42 --json', does: 'by the number of its task' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(retry, args);
    const [id] = words as [string];
    const out = outFor(config);
    const run = await withOperator(config, (operator) =>
      operator.call('retryRun', { params: { id }, timeoutMs: LONG_MS }),
    );
    if (out.mode === 'json') out.json(run);
    else out.line(`${safeLine(run.name ?? run.id)} goes on`);
    return EXIT.fine;
  },
};

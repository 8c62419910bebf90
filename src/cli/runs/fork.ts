import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs fork RUN`. */
export const fork: Command = {
  name: 'runs fork',
  doc: 'Start another run from a step of this one, with other entries in its context',
  args: [RUN],
  options: ['forkStep', 'changes', 'runName', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'runs fork nightly/7', does: 'from its last step' },
    {
      line: `runs fork nightly/7 --step s:000003 --set '{"draft": null, "tone": "dry"}'`,
      does: 'after that step, without "draft" and with another "tone"',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(fork, args);
    const [id] = words as [string];
    const { forkStep, changes, runName } = config;
    const out = outFor(config);
    const run = await withOperator(config, (operator) =>
      operator.call('forkRun', {
        params: { id },
        body: {
          ...(forkStep === undefined ? {} : { step: forkStep }),
          ...(changes === undefined ? {} : { context: changes }),
          ...(runName === undefined ? {} : { name: runName }),
        },
      }),
    );
    if (out.mode === 'json') out.json(run);
    else out.line(run.name === undefined ? run.id : `${run.id} ${safeLine(run.name)}`);
    return EXIT.fine;
  },
};

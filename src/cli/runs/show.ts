import { loadCall } from '../../config/load.ts';
import { stepsOfRun } from '../../operate/calls/run-calls.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { describeRun } from './run-page.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs show RUN`. */
export const show: Command = {
  name: 'runs show',
  doc: 'Show a run: its states, its steps, what it waits for and what to type to answer',
  args: [RUN],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'runs show nightly/7', does: 'by the name that it was started under' },
    { line: 'runs show 42 --json', does: 'by the number of its task, with its steps, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [id] = words as [string];
    const out = outFor(config);
    const { run, steps } = await withOperator(config, async (operator) => ({
      run: await operator.call('getRun', { params: { id } }),
      steps: await stepsOfRun(operator, id),
    }));
    if (out.mode === 'json') out.json({ ...run, steps: steps.steps });
    else for (const line of describeRun(run, steps, out, Date.now())) out.line(line);
    return EXIT.fine;
  },
};

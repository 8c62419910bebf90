import { loadCall } from '../../config/load.ts';
import { setWorkers } from '../../operate/calls/worker-calls.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, tasksWords, unknownWords, workerNames } from './name.ts';

/** `leasehold workers disable NAME…`. */
export const disable: Command = {
  name: 'workers disable',
  doc: 'Give workers no more tasks, also after a restart; running tasks go on',
  args: [{ ...NAME, many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workers disable laptop', does: 'until "workers enable laptop"' },
    { line: 'workers disable gpu-1 gpu-2', does: 'several; "workers drain" also waits for what they run' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(disable, args);
    const names = workerNames(words);
    const out = outFor(config);
    const answers = await withOperator(config, (operator) => setWorkers(operator, names, { enabled: false }));
    for (const answer of answers) {
      const { name, workers, running } = answer;
      if (out.mode === 'json') out.json(answer);
      else if (workers === 0) out.line(`${name} is disabled.${unknownWords(answer)}`);
      else
        out.line(
          `${name} is disabled: it takes nothing more, ${tasksWords(running)} of it ${running === 1 ? 'runs' : 'run'} on.`,
        );
    }
    return EXIT.fine;
  },
};

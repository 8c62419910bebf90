import { loadCall } from '../../config/load.ts';
import { setWorkers } from '../../operate/calls/worker-calls.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, unknownWords, workerNames } from './name.ts';

/** `leasehold workers enable NAME…`. */
export const enable: Command = {
  name: 'workers enable',
  doc: 'Let workers that were disabled or drained take tasks again',
  args: [{ ...NAME, many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workers enable laptop', does: 'it takes tasks again within a second' },
    { line: 'workers enable gpu-1 gpu-2 --json', does: 'several, with their settings, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(enable, args);
    const names = workerNames(words);
    const out = outFor(config);
    const answers = await withOperator(config, (operator) => setWorkers(operator, names, { enabled: true }));
    for (const answer of answers) {
      if (out.mode === 'json') out.json(answer);
      else out.line(`${answer.name} is enabled.${unknownWords(answer)}`);
    }
    return EXIT.fine;
  },
};

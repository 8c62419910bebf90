import { loadCall } from '../../config/load.ts';
import { OPTIONS } from '../../config/options.ts';
import { orNone } from '../../config/parse.ts';
import { setWorkers } from '../../operate/calls/worker-calls.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, unknownWords, workerNames } from './name.ts';

/** `leasehold workers priority NAME N|none`. */
export const priority: Command = {
  name: 'workers priority',
  doc: 'Override the priority of a worker: higher ones get work first',
  args: [NAME, { name: 'N|none', doc: 'A whole number; most workers have 0. none: its own again', signed: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workers priority big-box 10', does: 'it comes before the others while it has a free slot' },
    { line: 'workers priority laptop -5', does: 'only tasks that no other worker can take' },
    { line: 'workers priority laptop none', does: 'its own priority counts again' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(priority, args);
    const [name, text] = words as [string, string];
    const names = workerNames([name]);
    const value = orNone(OPTIONS.workerPriority.parse)(text, 'N');
    const out = outFor(config);
    const answers = await withOperator(config, (operator) => setWorkers(operator, names, { priority: value }));
    for (const answer of answers) {
      if (out.mode === 'json') out.json(answer);
      else
        out.line(
          `${answer.name} has ${value === null ? 'its own priority again' : `priority ${value}`}.${unknownWords(answer)}`,
        );
    }
    return EXIT.fine;
  },
};

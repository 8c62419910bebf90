import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, workerNames } from './name.ts';

/** `leasehold workers rotate NAME`. */
export const rotate: Command = {
  name: 'workers rotate',
  doc: 'Give a worker another secret',
  args: [NAME],
  options: ['grace', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workers rotate gpu-box', does: 'workers with the old secret are cut off within a second' },
    { line: 'workers rotate gpu-box --grace 1h', does: 'the old secret is good for an hour more' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(rotate, args);
    const [name] = workerNames(words) as [string];
    const out = outFor(config);
    const rotated = await withOperator(config, (operator) =>
      operator.call('rotateWorker', { params: { name }, body: { grace: config.grace }, by: actingUser(undefined) }),
    );
    if (out.mode === 'json') out.json(rotated);
    else {
      out.line(`The new secret of ${name}: ${rotated.secret}`);
      out.note('It is shown this once.');
    }
    return EXIT.fine;
  },
};

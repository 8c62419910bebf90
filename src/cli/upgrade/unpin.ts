import { loadCall } from '../../config/load.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { editPolicy } from './policy-words.ts';

/** `leasehold upgrade unpin WORKER`. */
export const unpin: Command = {
  name: 'upgrade unpin',
  doc: 'Let workers that were pinned go with the others again',
  args: [{ name: 'WORKER', doc: 'The name of a worker', many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade unpin gpu-box', does: 'it goes where the others go' },
    { line: 'upgrade unpin gpu-box ci', does: 'both go' },
  ],

  run(args) {
    const { config, args: words } = loadCall(unpin, args);
    return editPolicy(config, { unpin: [...words] });
  },
};

import { loadCall } from '../../config/load.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { editPolicy } from './policy-words.ts';

/** `leasehold upgrade pin WORKER`. */
export const pin: Command = {
  name: 'upgrade pin',
  doc: 'Let workers stay as they are',
  args: [{ name: 'WORKER', doc: 'The name of a worker', many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade pin gpu-box', does: 'it is sent nowhere' },
    { line: 'upgrade pin gpu-box ci', does: 'both stay' },
  ],

  run(args) {
    const { config, args: words } = loadCall(pin, args);
    return editPolicy(config, { pin: [...words] });
  },
};

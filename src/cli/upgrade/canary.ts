import { loadCall } from '../../config/load.ts';
import { wholeNumber } from '../../config/parse.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { editPolicy } from './policy-words.ts';

/** `leasehold upgrade canary SHARE`. */
export const canary: Command = {
  name: 'upgrade canary',
  doc: 'Send only a share of the workers, always the same ones',
  args: [{ name: 'SHARE', doc: 'In percent, from 0 to 100' }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade canary 10', does: 'a tenth of the workers goes first' },
    { line: 'upgrade canary 100', does: 'all of them' },
  ],

  run(args) {
    const { config, args: words } = loadCall(canary, args);
    return editPolicy(config, { canary: wholeNumber(0, 100)(words[0] as string, 'SHARE') });
  },
};

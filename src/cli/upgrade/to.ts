import { loadCall } from '../../config/load.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { editPolicy } from './policy-words.ts';

/** `leasehold upgrade to VERSION|none`. */
export const to: Command = {
  name: 'upgrade to',
  doc: 'Send older workers to a release, each when its tasks have ended',
  args: [{ name: 'VERSION|none', doc: 'A release such as 1.4.2; none: nobody is sent anywhere any more' }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade to 0.2.0', does: 'workers whose node serves that release go there' },
    { line: 'upgrade to none', does: 'everybody stays' },
  ],

  run(args) {
    const { config, args: words } = loadCall(to, args);
    return editPolicy(config, { target: words[0] === 'none' ? null : (words[0] as string) });
  },
};

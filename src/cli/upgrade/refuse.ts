import { loadCall } from '../../config/load.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { editPolicy } from './policy-words.ts';

/** `leasehold upgrade refuse VERSION`. */
export const refuse: Command = {
  name: 'upgrade refuse',
  doc: 'Give no more work to a release: its workers end what they run and have to go',
  args: [{ name: 'VERSION', doc: 'A release such as 1.4.2', many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade refuse 0.1.3', does: 'its workers upgrade, or end with status 42' },
    { line: 'upgrade refuse 0.1.3 0.1.4', does: 'neither gets work' },
  ],

  run(args) {
    const { config, args: words } = loadCall(refuse, args);
    return editPolicy(config, { refuse: [...words] });
  },
};

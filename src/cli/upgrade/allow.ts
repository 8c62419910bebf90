import { loadCall } from '../../config/load.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { editPolicy } from './policy-words.ts';

/** `leasehold upgrade allow VERSION`. */
export const allow: Command = {
  name: 'upgrade allow',
  doc: 'Give work again to a release that was refused',
  args: [{ name: 'VERSION', doc: 'A release such as 1.4.2', many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade allow 0.1.3', does: 'its workers may come again' },
    { line: 'upgrade allow 0.1.3 0.1.4', does: 'both get work again' },
  ],

  run(args) {
    const { config, args: words } = loadCall(allow, args);
    return editPolicy(config, { allow: [...words] });
  },
};

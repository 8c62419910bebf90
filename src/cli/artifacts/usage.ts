import { loadConfig } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { formatBytes, formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

/** `leasehold artifacts usage`. */
export const usage: Command = {
  name: 'artifacts usage',
  doc: 'Say how many artifacts there are, and how much room they take',
  args: [],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'artifacts usage', does: 'those that are on their way are counted too' },
    { line: 'artifacts usage --json', does: 'entries and bytes, for a monitor' },
  ],

  async run(args) {
    const config = loadConfig(usage, args);
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('artifactUsage'));
    if (out.mode === 'json') out.json(answer);
    else out.line(`${formatCount(answer.entries)} artifacts, ${formatBytes(answer.bytes)}.`);
    return EXIT.fine;
  },
};

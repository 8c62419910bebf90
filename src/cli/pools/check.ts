import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { tellCheck } from './tell-check.ts';
import { NAME } from './words.ts';

/** `leasehold pools check POOL`. */
export const check: Command = {
  name: 'pools check',
  doc: 'Check a pool now: start the workers that are missing, or send idle ones home',
  args: [NAME],
  options: ['dryRun', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'pools check papers --dry-run', does: 'what would be done, and why' },
    { line: 'pools check papers', does: 'nodes and workers of the pool do so by themselves' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(check, args);
    const [name] = words as [string];
    const out = outFor(config);
    const checked = await withOperator(config, (operator) =>
      operator.call('checkPool', { params: { name }, body: { dryRun: config.dryRun } }),
    );
    return tellCheck(checked, out);
  },
};

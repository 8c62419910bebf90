import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { findPool, setPool } from '../../operate/calls/pool-calls.ts';
import type { Operator } from '../../operate/operator.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { tellCheck } from '../pools/tell-check.ts';
import { NAME } from '../pools/words.ts';

/** `leasehold pool check POOL`: the checker of FlatMachines, for a cron. */
export const check: Command = {
  name: 'pool check',
  doc: 'Start the workers that a pool is missing; made for a cron, and needs no process that stays',
  args: [{ ...NAME, doc: 'The pool; made if there is none, for the queue of its name' }],
  options: ['maxWorkers', 'dryRun', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'pool check papers --max-workers 3', does: 'starts up to three workers, each for one task' },
    { line: 'pool check papers', does: '*/5 * * * * of a cron; workers that end start the next ones by themselves' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(check, args);
    const [name] = words as [string];
    const out = outFor(config);
    const checked = await withOperator(
      config,
      async (operator) => {
        await prepare(operator, name, config);
        return operator.call('checkPool', { params: { name }, body: { dryRun: config.dryRun } });
      },
      { create: true },
    );
    return tellCheck(checked, out);
  },
};

/** The pool has the most workers that the command line says; without a word of it, an existing one is left as it is. */
async function prepare(operator: Operator, name: string, { maxWorkers: max }: Config): Promise<void> {
  const found = await findPool(operator, name);
  if (found !== undefined && (max === undefined || max === found.policy.max)) return;
  await setPool(operator, name, { policy: { max, ...least(found?.policy.min, max) } }, actingUser(undefined));
}

/** No more workers than the most are the least. */
function least(min: number | undefined, max: number | undefined): { readonly min?: number } {
  return min !== undefined && max !== undefined && min > max ? { min: max } : {};
}

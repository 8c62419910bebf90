import { loadCall } from '../../config/load.ts';
import { isEngineError } from '../../core/errors.ts';
import { findPool } from '../../operate/calls/pool-calls.ts';
import type { Operator } from '../../operate/operator.ts';
import type { QueueView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from '../pools/words.ts';

/** `leasehold pool status POOL`: the words of FlatMachines for its tasks and workers. */
export const status: Command = {
  name: 'pool status',
  doc: 'Count the jobs and workers of a pool, in the words of FlatMachines',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'pool status papers', does: 'pending, claimed, done and poisoned jobs; workers' },
    { line: 'pool status papers --json', does: 'the same, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(status, args);
    const [name] = words as [string];
    const out = outFor(config);
    const counted = await withOperator(config, (operator) => count(operator, name));
    if (out.mode === 'json') out.json(counted);
    else
      for (const [what, figure] of Object.entries(counted)) out.line(`${what.replace('_', ' ').padEnd(15)} ${figure}`);
    return EXIT.fine;
  },
};

async function count(operator: Operator, name: string): Promise<Readonly<Record<string, string | number>>> {
  const pool = await findPool(operator, name);
  const queues = await Promise.all((pool?.queues ?? [name]).map((queue) => queueOf(operator, queue)));
  const sum = (
    ...states: readonly ('ready' | 'scheduled' | 'waiting' | 'running' | 'completed' | 'failed')[]
  ): number => queues.reduce((all, queue) => all + states.reduce((some, state) => some + (queue?.[state] ?? 0), 0), 0);
  const { busy = 0, idle = 0, leaving = 0, starting = 0 } = pool?.now ?? {};
  return {
    pool: name,
    pending: sum('ready', 'scheduled', 'waiting'),
    claimed: sum('running'),
    done: sum('completed'),
    poisoned: sum('failed'),
    active_workers: busy + idle + leaving,
    starting,
    max_workers: pool?.policy.max ?? 'no pool',
  };
}

/** Nobody has pushed to it yet. */
async function queueOf(operator: Operator, queue: string): Promise<QueueView | undefined> {
  try {
    return await operator.call('getQueue', { params: { queue } });
  } catch (error) {
    if (isEngineError(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}

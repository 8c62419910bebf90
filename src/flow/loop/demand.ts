/** What a run of a loop asks of workers and limits. */
import type { LimitInput } from '../../core/limits/limit.ts';
import type { PlacementInput } from '../../core/placement/placement.ts';
import { isMap } from '../expression/values.ts';
import type { Machine } from '../machine/definition.ts';
import type { QueuePolicy } from './config-keys.ts';
import type { LoopInput } from './loop-input.ts';
import { rootTag } from './workspace-name.ts';

/** The hooks that make a machine a loop, and the machine that comes with leasehold. */
export const LOOP = 'loop';
/** How many runs go on at once, in all and in one workspace. An operator may set both. */
const RUNS_LIMIT = 'loop.runs';
const WORKSPACE_LIMIT = 'loop.workspace';
/** What is set where nobody has set anything: two runs in one folder would work against each other, and in all there is no bound. */
export const LIMIT_DEFAULTS: Readonly<Record<string, LimitInput>> = {
  [RUNS_LIMIT]: {},
  [WORKSPACE_LIMIT]: { perKey: 1 },
};

export interface LoopDemand {
  readonly placement: PlacementInput;
  readonly limits: readonly { readonly name: string; readonly key?: string }[];
}

/** Whether a machine is a loop: one with its hooks and with an agent of its phases. */
export function isLoop({ hooks, agents }: Pick<Machine, 'hooks' | 'agents'>): boolean {
  return (
    hooks.some(({ name }) => name === LOOP) &&
    Object.values(agents).some((agent) => isMap(agent) && agent['type'] === LOOP)
  );
}

/** The workspace is where its workers have it. The worker that had the run last comes first: the work is there. */
export function demandOf({ workspace }: Pick<LoopInput, 'workspace'>): LoopDemand {
  const [root = ''] = workspace.split('/');
  return {
    placement: { requires: [rootTag(root)], affinity: `loop:${workspace}` },
    limits: [{ name: RUNS_LIMIT }, { name: WORKSPACE_LIMIT, key: workspace }],
  };
}

/** The newest first: before all that wait. Among equals the oldest comes first. */
export function priorityOf(policy: QueuePolicy, waiting: readonly number[], most: number): number {
  if (policy === 'fifo') return 0;
  return Math.min(most, 1 + waiting.reduce((highest, one) => Math.max(highest, one), 0));
}

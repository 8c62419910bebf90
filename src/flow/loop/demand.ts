/** What a run of a loop asks of workers and limits. */

import type { LimitInput } from '../../core/limits/limit.ts';
import { MAX_KEY_LENGTH } from '../../core/names.ts';
import type { PlacementInput } from '../../core/placement/placement.ts';
import { runBranch } from '../../core/workspace/run-branch.ts';
import { sourceTag } from '../../core/workspace/worker-tag.ts';
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
export function demandOf({ workspace, config, name }: Pick<LoopInput, 'workspace' | 'config' | 'name'>): LoopDemand {
  if (config.workspace_source === 'git') return demandOfClone(config, name);
  const [root = ''] = workspace.split('/');
  return {
    placement: { requires: [rootTag(root)], affinity: `loop:${workspace}` },
    limits: [{ name: RUNS_LIMIT }, { name: WORKSPACE_LIMIT, key: workspace }],
  };
}

/** Whoever speaks with its server. Runs of one repository get in the way of each other on one branch alone, and only a run with a name may share its. */
function demandOfClone(
  { repo_url: url = '', credential, run_branch_prefix: prefix }: LoopInput['config'],
  name: string | undefined,
): LoopDemand {
  const branch = name === undefined ? undefined : runBranch(name, prefix);
  const shared = typeof branch === 'object' ? keyText(`${url}#${branch.branch}`) : undefined;
  return {
    placement: placementOfClone({ url, credential, branch: typeof branch === 'object' ? branch.branch : undefined }),
    limits: [{ name: RUNS_LIMIT }, ...(shared === undefined ? [] : [{ name: WORKSPACE_LIMIT, key: shared }])],
  };
}

/** What a task about the branch of a run asks of its worker. */
export function placementOfClone({
  url,
  credential,
  branch,
}: {
  readonly url: string;
  readonly credential?: string | undefined;
  readonly branch?: string | undefined;
}): PlacementInput {
  return {
    requires: [sourceTag('git')],
    ...(credential === undefined ? {} : { credentials: [credential] }),
    affinity: keyText(`loop:${url}${branch === undefined ? '' : `#${branch}`}`),
  };
}

/** A key has room for the end of a text: two that share it wait for each other, and no more. */
export const keyText = (text: string): string => text.slice(-MAX_KEY_LENGTH).toWellFormed();

/** The newest first: before all that wait. Among equals the oldest comes first. */
export function priorityOf(policy: QueuePolicy, waiting: readonly number[], most: number): number {
  if (policy === 'fifo') return 0;
  return Math.min(most, 1 + waiting.reduce((highest, one) => Math.max(highest, one), 0));
}

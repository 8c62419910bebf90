/** The columns: how many nodes there are. */
import type { Contender } from '../contenders/contender.ts';

export const ONE = '1 node';
export const THREE = '3 nodes';

export const contenders: readonly Contender[] = [ONE, '2 nodes', THREE].map((name) => ({
  name,
  drainTasks: 0,
  open: () => Promise.reject(new Error('its processes are those of a scene')),
}));

export function nodesOf({ name }: Contender): number {
  return Number.parseInt(name, 10);
}

import type { Lease } from '../../core/task/lease.ts';
import type { LeaseTokens } from '../workers/lease-tokens.ts';

/** A lease that a node holds, as its token says it. */
export interface NodeLease extends Lease {
  readonly node: string;
}

/** Nobody else's: a worker that comes by another way has proofs of its own. */
const holderOf = (node: string): string => `node:${node}`;

/** The token carries all that is needed to find the lease, and the proof that it was granted to this node. */
export function writeLease(tokens: LeaseTokens, { task, attempt, node }: NodeLease): string {
  return `${task}.${attempt}.${tokens.of({ task, attempt }, holderOf(node))}.${node}`;
}

/** Undefined: it is not one that was ever given. */
export function readLease(tokens: LeaseTokens, text: string): NodeLease | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})\.([\w-]+)\.(.+)$/.exec(text);
  if (match === null) return undefined;
  const [, task, attempt, token = '', node = ''] = match;
  const lease = { task: Number(task), attempt: Number(attempt) };
  return tokens.proves({ ...lease, token }, holderOf(node)) ? { ...lease, node } : undefined;
}

import type { Lease } from '../../core/task/lease.ts';
import type { LeaseTokens } from '../workers/lease-tokens.ts';

/** A lease of a node, as its token carries it. */
export interface NodeLease extends Lease {
  readonly node: string;
}

/** A holder of its own kind: the proofs of other workers do not fit. */
const holderOf = (node: string): string => `node:${node}`;

/** The token carries what is needed to find the lease, and the proof that it was granted to this node. */
export function writeLease(tokens: LeaseTokens, { task, attempt, node }: NodeLease): string {
  return `${task}.${attempt}.${tokens.of({ task, attempt }, holderOf(node))}.${node}`;
}

/** Undefined: no such lease was ever granted. */
export function readLease(tokens: LeaseTokens, text: string): NodeLease | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})\.([\w-]+)\.(.+)$/.exec(text);
  if (match === null) return undefined;
  const [, task, attempt, token = '', node = ''] = match;
  const lease = { task: Number(task), attempt: Number(attempt) };
  return tokens.proves({ ...lease, token }, holderOf(node)) ? { ...lease, node } : undefined;
}

import type { NewClaim } from './store.ts';

/** The keys under which every store remembers operation ids. Keys of different verbs never collide. */

/** How long an operation id is remembered. */
export const OP_MS = 24 * 3_600_000;

export const pushKey = (op: string): string => `push:${op}`;
export const signalKey = (op: string): string => `signal:${op}`;
/** With the worker: two workers that chose the same id must not share a grant. */
export const claimKey = ({ holder, op }: NewClaim): string => `claim:${holder}:${op}`;

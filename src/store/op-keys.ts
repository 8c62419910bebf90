import type { NewClaim } from './store.ts';

/** What operation ids are remembered by in every store. Keys of different verbs never meet. */

/** How long an operation id is remembered. */
export const OP_MS = 24 * 3_600_000;

export const pushKey = (op: string): string => `push:${op}`;
export const signalKey = (op: string): string => `signal:${op}`;
/** Of one worker: two that chose the same id must not share a grant. */
export const claimKey = ({ holder, op }: NewClaim): string => `claim:${holder}:${op}`;

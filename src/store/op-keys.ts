import type { NewClaim, NewTask, PushAnswer, PushConflict } from './store.ts';

/** The keys under which every store remembers operation ids. Keys of different verbs never collide. */

/** How long an operation id is remembered. */
export const OP_MS = 24 * 3_600_000;

export const pushKey = (op: string): string => `push:${op}`;
export const signalKey = (op: string): string => `signal:${op}`;
/** With the worker: two workers that chose the same id must not share a grant. */
export const claimKey = ({ holder, op }: NewClaim): string => `claim:${holder}:${op}`;

/** What is remembered of a push: the task and when it was made, or the task that had the unique key; then the hash of what was pushed. */
type KeptAnswer = readonly [task: number, createdAt?: number | null, hash?: number];

/** The text of an answer that is remembered under an operation id. */
export function keptText(answer: Exclude<PushAnswer, { readonly limit: string }>, { opHash }: NewTask): string {
  const [task, createdAt] = answer.ok ? [answer.task, answer.createdAt] : [answer.conflict, null];
  return JSON.stringify((opHash === undefined ? [task, createdAt] : [task, createdAt, opHash]) satisfies KeptAnswer);
}

/** The earlier push under the same operation id, or the refusal of this one. */
export function readKept(
  text: string,
  { opHash }: NewTask,
): { readonly task: number; readonly createdAt: number } | PushConflict {
  const [task, createdAt, hash] = JSON.parse(text) as KeptAnswer;
  if (hash !== undefined && opHash !== undefined && hash !== opHash) return { ok: false, conflict: task, byOp: true };
  return typeof createdAt === 'number' ? { task, createdAt } : { ok: false, conflict: task };
}

/** A graph takes from no limit, so nothing but a conflict refuses its tasks. */
export function conflictOf(answer: PushAnswer & { readonly ok: false }): PushConflict {
  return 'conflict' in answer ? answer : { ok: false, conflict: 0 };
}

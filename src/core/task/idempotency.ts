import { canonicalJson } from './payload.ts';

export interface Work {
  /** The task's id, as its caller knows it. */
  readonly task: string;
  /** Which execution of it. Attempts are not counted: a crash must lead to the same key. */
  readonly run: number;
  /** JSON text. The order of keys does not matter; null differs from {}. */
  readonly inputs: string;
}

/** The identity of a piece of work, for ever: its key is a hash of this. */
export function idempotencyText({ task, run, inputs }: Work): string {
  return JSON.stringify([task, run, canonicalJson(inputs)]);
}

import { canonicalJson } from './payload.ts';

export interface Work {
  /** Of the task, as its caller knows it. */
  readonly task: string;
  /** Which execution of it; an attempt is none: a crash must lead to the same key. */
  readonly run: number;
  /** JSON text. The order of keys says nothing; null is something else than {}. */
  readonly inputs: string;
}

/** What a piece of work is known by, everywhere and always: its key is a hash of this. */
export function idempotencyText({ task, run, inputs }: Work): string {
  return JSON.stringify([task, run, canonicalJson(inputs)]);
}

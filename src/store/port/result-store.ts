import type { Lease } from '../../core/task/lease.ts';

/** The part of the port for results that outlive their tasks, by logical key. A task whose result is kept need not run. */
export interface ResultStore {
  /** The keys under which the results of these tasks are looked up and kept; undefined if the caller gave none. */
  resultKeys(params: { readonly tasks: readonly number[] }): Promise<readonly (string | undefined)[]>;
  /** The result under each key, if it has not expired and is no older than asked. Reads only. */
  resultFind(params: { readonly items: readonly ResultQuery[] }): Promise<readonly (KeptResult | undefined)[]>;
  /** Keeps the result of a running task, fenced. A result that `resultFind` would return at that age stays. */
  resultKeep(params: { readonly items: readonly NewResult[] }): Promise<readonly KeepAnswer[]>;
}

export interface ResultQuery {
  /** The hash of a logical key. */
  readonly key: string;
  /** At least 1. */
  readonly maxAgeMs: number;
}

export interface NewResult extends Lease, ResultQuery {
  /** JSON text; undefined for a handler that returned nothing. */
  readonly value?: string | undefined;
}

/** `stored`: by this call or an earlier try of it. `kept`: another result was there before, and stays. */
export type KeepAnswer = 'stored' | 'kept' | 'lost';

export interface KeptResult extends Lease {
  /** When its task was made. With the number it gives the public id, even if the task itself is gone. */
  readonly createdAt: number;
  /** JSON text; undefined: nothing was returned. */
  readonly value: string | undefined;
  readonly at: number;
}

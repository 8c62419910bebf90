import type { Permissions } from '../../core/placement/permissions.ts';
import { DEFAULT_RETRY, normalizeRetry, type RetryInput, type RetryPolicy } from '../../core/task/retry.ts';

/** `true`: a document. `end`: a task that tells of the end of one, which is completed with that. */
export type Gathers = true | 'end';

/** The part of a task that has few distinct values: interned, so that a task row needs no columns for it. */
export interface SpecBody {
  readonly retry: RetryPolicy;
  /** How long one attempt may run; the worker enforces it. */
  readonly timeoutMs?: number | undefined;
  /** A similar task's result that is at most this old may replace a run. `keyed`: the push gave a key that says which tasks are similar. */
  readonly reuse?: { readonly maxAgeMs: number; readonly keyed?: true } | undefined;
  /** How many spawns lie between it and the pushed task of its tree; undefined: it was pushed itself. */
  readonly depth?: number | undefined;
  /** Its input is completed with results of its document's dependencies when it is claimed. */
  readonly gathers?: Gathers | undefined;
  /** What it and its descendants may do to others while a joined worker runs them. */
  readonly permissions?: Permissions | undefined;
}

const DEFAULT_BODY = JSON.stringify({ retry: DEFAULT_RETRY } satisfies SpecBody);

/** The text that is interned. */
export function writeSpec(
  retry: RetryInput | undefined,
  timeoutMs?: number,
  reuse?: SpecBody['reuse'],
  depth?: number,
  gathers?: SpecBody['gathers'],
  permissions?: SpecBody['permissions'],
): string {
  if ((retry ?? timeoutMs ?? reuse ?? depth ?? gathers ?? permissions) === undefined) return DEFAULT_BODY;
  const policy = retry === undefined ? DEFAULT_RETRY : normalizeRetry(retry);
  return JSON.stringify({ retry: policy, timeoutMs, reuse, depth, gathers, permissions } satisfies SpecBody);
}

export function readSpec(body: string | undefined): SpecBody {
  return body === undefined ? { retry: DEFAULT_RETRY } : (JSON.parse(body) as SpecBody);
}

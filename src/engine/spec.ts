import { DEFAULT_RETRY, normalizeRetry, type RetryInput, type RetryPolicy } from '../core/retry.ts';

/** The rest of a task that has few distinct values: interned, so that a task row needs no columns for it. */
export interface SpecBody {
  readonly retry: RetryPolicy;
}

const DEFAULT_BODY = JSON.stringify({ retry: DEFAULT_RETRY } satisfies SpecBody);

/** The text that is interned. */
export function writeSpec(retry: RetryInput | undefined): string {
  return retry === undefined ? DEFAULT_BODY : JSON.stringify({ retry: normalizeRetry(retry) } satisfies SpecBody);
}

export function readSpec(body: string | undefined): SpecBody {
  return body === undefined ? { retry: DEFAULT_RETRY } : (JSON.parse(body) as SpecBody);
}

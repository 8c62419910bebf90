/** Whether an agent that failed is asked again within its phase. */

export interface AgentFailure {
  /** As agents say it: `rate_limit`, `server_error`, `model_unavailable`. */
  readonly code: string;
  readonly message: string;
  readonly status?: number | undefined;
}

export interface RetryRules {
  /** For failures that will not pass by themselves. */
  readonly retries: number;
  readonly backoffMs: number;
}

/** How often each kind of failure was answered by another try. */
export interface Tried {
  readonly transient: number;
  readonly others: number;
}

const MOST_TRANSIENT = 5;
const MOST_DELAY_MS = 120_000;
const PASSING: ReadonlySet<string> = new Set(['rate_limit', 'model_unavailable']);
const OVERLOADED = /\boverloaded\b|\b(?:http|status|error|code)[ :=]*(?:5\d\d|429)\b|\b(?:502|503|504|529) [a-z]/i;

/** A failure of the service behind the agent, which passes. */
export function isTransient({ code, message, status }: AgentFailure): boolean {
  if (status !== undefined) return status >= 500 || status === 429;
  return PASSING.has(code) || OVERLOADED.test(message);
}

/** How much later it is asked again; undefined: it is not. Transient failures have a count of their own, whatever the rules say. */
export function retryDelay(
  failure: AgentFailure,
  tried: Tried,
  { retries, backoffMs }: RetryRules,
): number | undefined {
  if (!isTransient(failure)) return tried.others < retries ? backoffMs : undefined;
  if (tried.transient + 1 >= MOST_TRANSIENT) return undefined;
  return Math.min(Math.max(backoffMs, 1) * 2 ** tried.transient, MOST_DELAY_MS);
}

export function triedAgain(failure: AgentFailure, { transient, others }: Tried): Tried {
  return isTransient(failure) ? { transient: transient + 1, others } : { transient, others: others + 1 };
}

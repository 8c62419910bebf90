import type { AgentError } from '../../flow/agent/result.ts';
import type { AgentSpent } from '../../flow/machine/commands.ts';
import { StateError } from '../../flow/machine/scopes.ts';

/** An agent that gave an error instead of an answer, with what it cost. */
export class AgentFailed extends StateError {
  readonly spent: AgentSpent;
  /** Wider names, which an `on_error` may have instead. */
  readonly also: readonly string[];

  constructor(
    type: string,
    message: string,
    { spent = {}, also = [] }: { spent?: AgentSpent; also?: readonly string[] },
  ) {
    super(type, message);
    this.spent = spent;
    this.also = also;
  }
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['rate_limit', 'RateLimitError'],
  ['timeout', 'TimeoutError'],
]);

/** The error of a state by the error of a result. From version 2 on, one that may pass is a `RetryableError` too. */
export function agentFailed(error: AgentError, specVersion: string, spent: AgentSpent): AgentFailed {
  const type = TYPES.get(error.code) ?? 'AgentError';
  const retryable = error.retryable && Number.parseInt(specVersion, 10) >= 2 ? ['RetryableError'] : [];
  const also = [...retryable, error.type, 'AgentError', 'RuntimeError'].filter((name) => name !== type);
  return new AgentFailed(type, `${error.type}: ${error.message}`, { spent, also });
}

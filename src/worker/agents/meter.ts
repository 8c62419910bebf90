/** Counts what the calls of a step use up: tokens, money, time and calls, also of those that failed. */
import type { Clock } from '../../core/world.ts';
import { type AgentResult, totalCost } from '../../flow/agent/result.ts';
import type { AgentCallRecord, AgentSpent } from '../../flow/machine/commands.ts';

export class Meter {
  readonly #clock: Clock;
  readonly #calls: AgentCallRecord[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes a call, and keeps what it took. */
  async call(body: () => Promise<AgentResult>): Promise<AgentResult> {
    const began = this.#clock.monotonic();
    const ms = (): number => Math.round(this.#clock.monotonic() - began);
    try {
      const result = await body();
      this.#calls.push(recordOf(result, ms()));
      return result;
    } catch (error) {
      const name = error instanceof Error ? error.name : 'Error';
      this.#calls.push({ ...recordOf({}, ms()), error: name });
      throw error;
    }
  }

  /** Calls that an earlier attempt at this step has made. */
  replay(records: readonly AgentCallRecord[]): void {
    this.#calls.push(...records);
  }

  get count(): number {
    return this.#calls.length;
  }

  since(count: number): readonly AgentCallRecord[] {
    return this.#calls.slice(count);
  }

  get spent(): AgentSpent {
    return {
      apiCalls: sum(this.#calls, ({ apiCalls }) => apiCalls),
      cost: sum(this.#calls, ({ cost }) => cost),
      tokens: sum(this.#calls, ({ totalTokens }) => totalTokens),
      ms: sum(this.#calls, ({ ms }) => ms),
      calls: [...this.#calls],
    };
  }
}

function recordOf(result: AgentResult, ms: number): AgentCallRecord {
  const { usage = {}, finish_reason: finish, error } = result;
  const { input_tokens: input = 0, output_tokens: output = 0 } = usage;
  return {
    ms,
    apiCalls: usage.api_calls ?? 1,
    inputTokens: input,
    outputTokens: output,
    totalTokens: usage.total_tokens ?? input + output,
    cacheReadTokens: usage.cache_read_tokens ?? 0,
    cacheWriteTokens: usage.cache_write_tokens ?? 0,
    cost: totalCost(result),
    ...(finish === undefined ? {} : { finish }),
    ...(error === undefined ? {} : { error: error.code }),
  };
}

export function sum<T>(all: readonly T[], amount: (one: T) => number): number {
  return all.reduce((total, one) => total + amount(one), 0);
}

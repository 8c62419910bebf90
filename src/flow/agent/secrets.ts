/** Values that must not be said back: agents, endpoints and tools may repeat what they were sent, and what they say goes into rows and logs. */
import { isList, isMap, mapOf, type Value } from '../expression/values.ts';
import type { AgentResult } from './result.ts';

/** A shorter one would be found in words that are none. */
const SHORTEST = 8;
const HIDDEN = '[secret]';

export class Secrets {
  /** The longest first: one may be a part of another. */
  readonly #values: readonly string[];

  constructor(given: Iterable<string | undefined>) {
    const long = [...given].filter((one) => one !== undefined && one.length >= SHORTEST) as readonly string[];
    // Also as JSON writes them.
    const all = new Set(long.flatMap((one) => [one, JSON.stringify(one).slice(1, -1)]));
    this.#values = [...all].sort((a, b) => b.length - a.length);
  }

  hide(text: string): string {
    return this.#values.reduce((told, value) => told.replaceAll(value, HIDDEN), text);
  }

  /** The same in all texts of a value that can be stored. Numbers and words of JSON are no texts, whatever they look like. */
  hideIn(value: Value): Value {
    if (this.#values.length === 0) return value;
    const text = JSON.stringify(value);
    if (text === undefined || !this.#values.some((one) => text.includes(one))) return value;
    return this.#within(JSON.parse(text) as Value);
  }

  /** So many characters at the end of a text may be the beginning of one. */
  begunIn(text: string): number {
    let most = 0;
    for (const value of this.#values)
      for (let length = Math.min(value.length - 1, text.length); length > most; length--)
        if (text.endsWith(value.slice(0, length))) most = length;
    return most;
  }

  /** An error goes into logs. The answer is for whoever asked. */
  hideInError(result: AgentResult): AgentResult {
    const { error } = result;
    if (error === undefined) return result;
    return { ...result, error: { ...error, type: this.hide(error.type), message: this.hide(error.message) } };
  }

  #within(value: Value): Value {
    if (typeof value === 'string') return this.hide(value);
    if (isList(value)) return value.map((one) => this.#within(one));
    if (!isMap(value)) return value;
    return mapOf(Object.entries(value).map(([name, one]) => [this.hide(name), this.#within(one)] as const));
  }
}

import { SHORTEST_HIDDEN as SHORTEST } from '../../core/credential/value.ts';
import { Automaton } from './automaton.ts';
import { formsOf } from './forms.ts';

const HIDDEN = Buffer.from('***');

/**
 * Takes secret texts, in any of their forms, out of what a handler says. This is a best effort against accidents: who wants to get a value out
 * writes it in a form that is not known here.
 */
export class Redactor {
  readonly #secrets = new Set<string>();
  #automaton: Automaton | undefined;

  /** From now on these are hidden as well. */
  add(secrets: Iterable<string>): void {
    for (const one of secrets) {
      if (one.length < SHORTEST || this.#secrets.has(one)) continue;
      this.#secrets.add(one);
      this.#automaton = undefined;
    }
  }

  /** Nothing is hidden yet. */
  get idle(): boolean {
    return this.#secrets.size === 0;
  }

  /** For bytes that come in pieces: a secret may begin in one of them and end in another. */
  stream(): RedactedStream {
    this.#automaton ??= new Automaton([...formsOf(this.#secrets)].map((form) => Buffer.from(form)));
    return new RedactedStream(this.#automaton);
  }

  /** `cut`: it goes on, and the rest was dropped, so that a secret that has only begun is hidden too. */
  hide(text: string, cut = false): string {
    if (this.idle) return text;
    const stream = this.stream();
    const bytes = Buffer.from(text);
    const said = [stream.push(bytes), cut ? stream.cut() : stream.end()];
    return stream.hidden ? Buffer.concat(said).toString() : text;
  }

  /** The same in all texts of a value that can be stored: a number is hidden if it is written as a secret is. */
  hideIn(value: unknown): unknown {
    if (this.idle) return value;
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch {
      // Whoever stores it refuses it.
      return value;
    }
    if (text === undefined || this.hide(text) === text) return value;
    return this.#within(JSON.parse(text));
  }

  /** An error as it is stored: its name, message, code and stack. */
  hideInError(error: unknown): unknown {
    if (this.idle || !(error instanceof Error)) return this.hideIn(error);
    const { name, message, stack } = error;
    const { code } = error as { readonly code?: unknown };
    const told = { name, message, ...(typeof code === 'string' ? { code } : {}), stack };
    const hidden = this.hideIn(told);
    return hidden === told ? error : hidden;
  }

  #within(value: unknown): unknown {
    if (typeof value === 'string') return this.hide(value);
    if (typeof value === 'number') return this.hide(String(value)) === String(value) ? value : HIDDEN.toString();
    if (Array.isArray(value)) return value.map((one) => this.#within(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.hide(key), this.#within(one)]));
  }
}

/**
 * One text in pieces. What may still become a part of a secret is held back, and nothing more: the output does not depend on how the text was
 * cut into pieces. Secrets that overlap or touch are hidden as one.
 */
export class RedactedStream {
  readonly #automaton: Automaton;
  #state = 0;
  #held: Buffer = Buffer.alloc(0);
  /** How much at the beginning of what is held belongs to a secret. Parts of a secret may come after it. */
  #covered: [from: number, to: number][] = [];
  /** The last byte of the output stood for a secret. */
  #hiding = false;
  /** Something was hidden. */
  hidden = false;

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  push(chunk: Uint8Array): Buffer {
    const start = this.#held.length;
    this.#held = start === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    for (let at = start; at < this.#held.length; at++) {
      this.#state = this.#automaton.next(this.#state, this.#held[at] as number);
      const length = this.#automaton.match(this.#state);
      if (length > 0) this.#cover(at + 1 - length, at + 1);
    }
    return this.#give(this.#held.length - this.#automaton.depth(this.#state));
  }

  /** The rest. */
  end(): Buffer {
    this.#state = 0;
    return this.#give(this.#held.length);
  }

  /** The rest of a text that was cut: what a secret may have begun with is hidden. */
  cut(): Buffer {
    const open = this.#automaton.depth(this.#state);
    if (open > 0) this.#cover(this.#held.length - open, this.#held.length);
    return this.end();
  }

  /** Kept in order and apart: a longer one swallows those that it overlaps or touches. */
  #cover(from: number, to: number): void {
    let start = from;
    for (let last = this.#covered.at(-1); last !== undefined && last[1] >= start; last = this.#covered.at(-1)) {
      start = Math.min(start, last[0]);
      this.#covered.pop();
    }
    this.#covered.push([start, to]);
  }

  #give(end: number): Buffer {
    const out: Uint8Array[] = [];
    let at = 0;
    while (at < end) {
      const [from, to] = this.#covered[0] ?? [end, end];
      if (at < from) {
        out.push(this.#held.subarray(at, Math.min(from, end)));
        this.#hiding = false;
      }
      if (from >= end) break;
      if (!this.#hiding) out.push(HIDDEN);
      this.#hiding = true;
      this.hidden = true;
      at = Math.min(to, end);
      if (to <= end) this.#covered.shift();
      else break;
    }
    const given = Buffer.concat(out);
    this.#held = Buffer.from(this.#held.subarray(end));
    this.#covered = this.#covered.map(([from, to]) => [Math.max(0, from - end), to - end]);
    return given;
  }
}

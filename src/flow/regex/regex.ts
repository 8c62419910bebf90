/**
 * Regular expressions whose time grows with the text and not with what it makes them try: all ways through the program are followed
 * at once (a Pike machine). `(a+)+$` took 36 s on 29 characters in an engine that goes back.
 */
import { isWord } from './char-classes.ts';
import { parsePattern } from './parse.ts';
import { type Instruction, programOf } from './program.ts';
import type { Assertion } from './syntax.ts';

export interface Match {
  /** The whole match, then each group; undefined for one that took no part. */
  readonly groups: readonly (string | undefined)[];
  readonly names: ReadonlyMap<string, string | undefined>;
}

/** Is told of each instruction that is looked at, and may throw. */
export type OnWork = (instructions: number) => void;

/** One way through the program, with what it has captured. */
interface Thread {
  readonly at: number;
  readonly saved: readonly number[];
}

export class Regex {
  readonly #program: readonly Instruction[];
  readonly #names: ReadonlyMap<string, number>;
  readonly #groups: number;

  /** Throws a `PatternError` that says what is wrong. */
  constructor(source: string) {
    const { pattern, groups, names } = parsePattern(source);
    this.#program = programOf(pattern);
    this.#names = names;
    this.#groups = groups;
  }

  /** Whether the pattern occurs anywhere in the text. */
  test(text: string, onWork: OnWork): boolean {
    return this.#run(text, onWork, true) !== undefined;
  }

  /** The first occurrence, and of those that begin there the one that is preferred. */
  match(text: string, onWork: OnWork): Match | undefined {
    const found = this.#run(text, onWork, false);
    if (found === undefined) return undefined;
    const chars = Array.from(text);
    const part = (group: number): string | undefined => {
      const [from, to] = [found[group * 2], found[group * 2 + 1]];
      return from === undefined || to === undefined ? undefined : chars.slice(from, to).join('');
    };
    return {
      groups: Array.from({ length: this.#groups + 1 }, (_, i) => part(i)),
      names: new Map([...this.#names].map(([name, group]) => [name, part(group)])),
    };
  }

  #run(text: string, onWork: OnWork, anyWill: boolean): readonly number[] | undefined {
    const codes = Array.from(text, (char) => char.codePointAt(0) as number);
    let threads: Thread[] = [];
    let found: readonly number[] | undefined;
    for (let place = 0; place <= codes.length; place++) {
      const seen = new Set<number>();
      const current: Thread[] = [];
      for (const thread of threads) this.#follow(thread, codes, place, seen, current);
      // A match that began earlier is preferred to one that begins here.
      if (found === undefined) this.#follow({ at: 0, saved: [] }, codes, place, seen, current);
      onWork(1 + seen.size);
      threads = [];
      for (const { at, saved } of current) {
        const instruction = this.#program[at] as Instruction;
        if (instruction.op === 'match') {
          found = saved;
          if (anyWill) return found;
          break; // those behind it are less preferred
        }
        if (instruction.op === 'char' && place < codes.length && instruction.test(codes[place] as number)) {
          threads.push({ at: at + 1, saved });
        }
      }
      if (threads.length === 0 && found !== undefined) return found;
    }
    return found;
  }

  /** Adds the places that a thread reaches without a character, in the order of preference. */
  #follow(begin: Thread, codes: readonly number[], place: number, seen: Set<number>, reached: Thread[]): void {
    const open: Thread[] = [begin];
    for (let thread = open.pop(); thread !== undefined; thread = open.pop()) {
      const { at, saved } = thread;
      if (seen.has(at)) continue;
      seen.add(at);
      const instruction = this.#program[at] as Instruction;
      if (instruction.op === 'jump') open.push({ at: instruction.to, saved });
      else if (instruction.op === 'split')
        open.push({ at: instruction.second, saved }, { at: instruction.first, saved });
      else if (instruction.op === 'save') {
        const next = [...saved];
        next[instruction.slot] = place;
        open.push({ at: at + 1, saved: next });
      } else if (instruction.op === 'assert') {
        if (holds(instruction.what, codes, place)) open.push({ at: at + 1, saved });
      } else reached.push(thread);
    }
  }
}

function holds(what: Assertion, codes: readonly number[], place: number): boolean {
  const [before, after] = [codes[place - 1], codes[place]];
  const isEdge = (before !== undefined && isWord(before)) !== (after !== undefined && isWord(after));
  switch (what) {
    case 'textStart':
      return before === undefined;
    case 'textEnd':
      return after === undefined;
    case 'lineStart':
      return before === undefined || before === 0x0a;
    case 'lineEnd':
      return after === undefined || after === 0x0a;
    case 'wordEdge':
      return isEdge;
    case 'noWordEdge':
      return !isEdge;
  }
}

import { anyOf, ESCAPED_CLASSES, foldCase, NAMED_CLASSES, not, range, unicodeClass } from './char-classes.ts';
import type { CharTest, Parsed, Pattern } from './syntax.ts';

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** As RE2 has it: a larger count would make a large program of a short pattern. */
const MOST_REPEATS = 1000;
const MOST_DEPTH = 100;
const MOST_SOURCE = 1000;
const SIMPLE_ESCAPES: ReadonlyMap<string, number> = new Map([
  ['n', 0x0a],
  ['t', 0x09],
  ['r', 0x0d],
  ['f', 0x0c],
  ['v', 0x0b],
  ['a', 0x07],
]);

interface Flags {
  readonly ignoreCase: boolean;
  readonly lines: boolean;
  readonly dotAll: boolean;
  readonly lazy: boolean;
}

export function parsePattern(source: string): Parsed {
  if (source.length > MOST_SOURCE) throw new PatternError(`a pattern has at most ${MOST_SOURCE} characters`);
  const parser = new PatternParser(source);
  const pattern = parser.parse();
  return { pattern, groups: parser.groups, names: parser.names };
}

class PatternParser {
  readonly #chars: readonly string[];
  #at = 0;
  #depth = 0;
  groups = 0;
  readonly names = new Map<string, number>();
  #flags: Flags = { ignoreCase: false, lines: false, dotAll: false, lazy: false };

  constructor(source: string) {
    this.#chars = Array.from(source);
  }

  parse(): Pattern {
    const pattern = this.#choice();
    if (this.#at < this.#chars.length) throw new PatternError('a ")" closes nothing');
    return pattern;
  }

  get #char(): string | undefined {
    return this.#chars[this.#at];
  }

  #take(text: string): boolean {
    if (!this.#sees(text)) return false;
    this.#at += Array.from(text).length;
    return true;
  }

  #sees(text: string): boolean {
    return Array.from(text).every((char, i) => this.#chars[this.#at + i] === char);
  }

  #choice(): Pattern {
    if (++this.#depth > MOST_DEPTH) throw new PatternError(`a pattern is nested at most ${MOST_DEPTH} deep`);
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    this.#depth--;
    return options.length === 1 ? (options[0] as Pattern) : { kind: 'choice', options };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.#char !== undefined && this.#char !== '|' && this.#char !== ')') {
      const part = this.#atom();
      if (part !== undefined) parts.push(this.#repeated(part));
    }
    return parts.length === 1
      ? (parts[0] as Pattern)
      : parts.length === 0
        ? { kind: 'empty' }
        : { kind: 'sequence', parts };
  }

  #repeated(of: Pattern): Pattern {
    const counts = this.#counts();
    if (counts === undefined) return of;
    const greedy = this.#take('?') === this.#flags.lazy;
    const [least, most] = counts;
    const repeat: Pattern = { kind: 'repeat', of, least, most, greedy };
    if (this.#counts() !== undefined) throw new PatternError('a repetition cannot be repeated: use a group');
    return repeat;
  }

  #counts(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    if (this.#char !== '{') return undefined;
    const found = /^\{(\d{1,6})(?:(,)(\d{1,6})?)?\}/.exec(this.#chars.slice(this.#at, this.#at + 16).join(''));
    if (found === null) return undefined; // a brace that says no count stands for itself
    this.#at += found[0].length;
    const least = Number(found[1]);
    const most = found[2] === undefined ? least : found[3] === undefined ? Number.POSITIVE_INFINITY : Number(found[3]);
    const largest = Number.isFinite(most) ? most : least;
    if (largest > MOST_REPEATS || most < least)
      throw new PatternError(`"${found[0]}" is no count of up to ${MOST_REPEATS}`);
    return [least, most];
  }

  /** Undefined for what only sets flags. */
  #atom(): Pattern | undefined {
    const char = this.#chars[this.#at++] as string;
    const { lines, dotAll } = this.#flags;
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        return this.#one(this.#class());
      case '.':
        return { kind: 'char', test: dotAll ? () => true : (code) => code !== 0x0a };
      case '^':
        return { kind: 'assert', what: lines ? 'lineStart' : 'textStart' };
      case '$':
        return { kind: 'assert', what: lines ? 'lineEnd' : 'textEnd' };
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw new PatternError(`"${char}" repeats nothing`);
      default:
        return this.#literal(char.codePointAt(0) as number);
    }
  }

  #literal(wanted: number): Pattern {
    return this.#one((code) => code === wanted);
  }

  #one(test: CharTest): Pattern {
    return { kind: 'char', test: this.#flags.ignoreCase ? foldCase(test) : test };
  }

  #group(): Pattern | undefined {
    const outer = this.#flags;
    let slot: number | undefined;
    if (!this.#take('?')) slot = ++this.groups;
    else if (this.#take('P<') || (this.#sees('<') && !this.#sees('<=') && !this.#sees('<!') && this.#take('<'))) {
      slot = ++this.groups;
      this.names.set(this.#name(), slot);
    } else if (this.#setFlags()) return undefined;
    const of = this.#choice();
    if (!this.#take(')')) throw new PatternError('a group is not closed: expected ")"');
    this.#flags = outer;
    return slot === undefined ? of : { kind: 'group', of, slot };
  }

  #name(): string {
    let name = '';
    while (/\w/.test(this.#char ?? '')) name += this.#chars[this.#at++];
    if (name === '' || !this.#take('>')) throw new PatternError('a group has a name in "<" and ">"');
    return name;
  }

  /** `(?i)` sets flags for the rest of the group, `(?i:…)` for what is inside. Says whether nothing else is inside. */
  #setFlags(): boolean {
    let value = true;
    let flags = this.#flags;
    for (;;) {
      const char = this.#chars[this.#at++];
      if (char === ':' || char === ')') {
        this.#flags = flags;
        return char === ')';
      }
      if (char === '-') value = false;
      else if (char === 'i') flags = { ...flags, ignoreCase: value };
      else if (char === 'm') flags = { ...flags, lines: value };
      else if (char === 's') flags = { ...flags, dotAll: value };
      else if (char === 'U') flags = { ...flags, lazy: value };
      else
        throw new PatternError(
          'there is no look-around here, and no other group than (…), (?:…), (?P<name>…) and (?ims)',
        );
    }
  }

  #escape(): Pattern {
    const { kind, what } = EDGES.get(this.#char ?? '') ?? {};
    if (kind !== undefined && what !== undefined) {
      this.#at++;
      return { kind, what };
    }
    return this.#one(this.#escaped());
  }

  /** The characters that an escape stands for, in a class or outside. */
  #escaped(): CharTest {
    const char = this.#chars[this.#at++];
    if (char === undefined) throw new PatternError('a backslash stands before nothing');
    const known = ESCAPED_CLASSES.get(char);
    if (known !== undefined) return known;
    if (char === 'p' || char === 'P') return this.#unicode(char === 'P');
    const code = this.#escapedCode(char);
    return (one) => one === code;
  }

  #escapedCode(char: string): number {
    if (char === 'x') return this.#hex();
    const simple = SIMPLE_ESCAPES.get(char);
    if (simple !== undefined) return simple;
    if (char === '0') return 0;
    if (/[A-Za-z0-9]/.test(char)) throw new PatternError(`there is no escape "\\${char}"`);
    return char.codePointAt(0) as number;
  }

  #hex(): number {
    const rest = this.#chars.slice(this.#at, this.#at + 10).join('');
    const found = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(rest);
    const code = Number.parseInt(found?.[1] ?? found?.[2] ?? '', 16);
    if (found === null || code > 0x10_ff_ff)
      throw new PatternError('"\\x" takes two hexadecimal digits, or some in braces');
    this.#at += found[0].length;
    return code;
  }

  #unicode(negated: boolean): CharTest {
    const rest = this.#chars.slice(this.#at, this.#at + 48).join('');
    const found = /^(?:\{(\^?)([A-Za-z_]+)\}|([A-Za-z]))/.exec(rest);
    const test = found === null ? undefined : unicodeClass(found[2] ?? found[3] ?? '');
    if (found === null || test === undefined) throw new PatternError('there is no such class of characters');
    this.#at += found[0].length;
    return negated !== (found[1] === '^') ? not(test) : test;
  }

  #class(): CharTest {
    const negated = this.#take('^');
    const tests: CharTest[] = [];
    for (let first = true; first || this.#char !== ']'; first = false) {
      if (this.#char === undefined) throw new PatternError('a class is not closed: expected "]"');
      tests.push(this.#classPart());
    }
    this.#at++;
    const test = anyOf(tests);
    // The case is folded first: `(?i)[^a]` is not "A".
    return negated ? not(this.#flags.ignoreCase ? foldCase(test) : test) : test;
  }

  #classPart(): CharTest {
    const named = /^\[:(\^?)(\w+):\]/.exec(this.#chars.slice(this.#at, this.#at + 16).join(''));
    if (named !== null) {
      const test = NAMED_CLASSES.get(named[2] as string);
      if (test === undefined) throw new PatternError(`there is no class "${named[0]}"`);
      this.#at += named[0].length;
      return named[1] === '^' ? not(test) : test;
    }
    const low = this.#classChar();
    if (typeof low !== 'number') return low;
    if (this.#char !== '-' || this.#chars[this.#at + 1] === ']' || this.#chars[this.#at + 1] === undefined) {
      return (code) => code === low;
    }
    this.#at++;
    const high = this.#classChar();
    if (typeof high !== 'number' || high < low)
      throw new PatternError('a range in a class goes from a lower character to a higher one');
    return range(low, high);
  }

  #classChar(): number | CharTest {
    const char = this.#chars[this.#at++] as string;
    if (char !== '\\') return char.codePointAt(0) as number;
    const escaped = this.#char ?? '';
    if (ESCAPED_CLASSES.has(escaped) || escaped === 'p' || escaped === 'P') return this.#escaped();
    this.#at++;
    if (escaped === '') throw new PatternError('a backslash stands before nothing');
    return this.#escapedCode(escaped);
  }
}

const EDGES: ReadonlyMap<string, Pattern & { readonly kind: 'assert' }> = new Map([
  ['b', { kind: 'assert', what: 'wordEdge' }],
  ['B', { kind: 'assert', what: 'noWordEdge' }],
  ['A', { kind: 'assert', what: 'textStart' }],
  ['z', { kind: 'assert', what: 'textEnd' }],
]);

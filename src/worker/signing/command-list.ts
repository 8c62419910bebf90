import { fault } from '../../core/errors.ts';

/**
 * The commands that a worker runs, whatever it is told. A pattern is a program and its arguments with blanks between them, such as
 * `/usr/bin/convert *.png`. A `*` inside a word stands for any letters of that word; `*` as the last word for any words, or none. Tasks with a
 * list of arguments are matched word by word. A line for a shell must be the pattern letter for letter, or have plain words only: in
 * `git *` the star must not stand for `; rm -rf /`.
 */
export class CommandList {
  readonly #patterns: readonly (readonly string[])[];
  readonly #texts: ReadonlySet<string>;

  constructor(patterns: readonly string[]) {
    this.#texts = new Set(patterns.filter((pattern) => !pattern.includes('*')));
    this.#patterns = patterns.map((pattern) => pattern.split(' ').filter((word) => word !== ''));
    const loose = patterns.find((_, i) => this.#patterns[i]?.[0]?.includes('*') ?? true);
    if (loose === undefined) return;
    const problem = `${JSON.stringify(loose.slice(0, 80))} does not begin with the name of a program`;
    throw fault('INVALID_INPUT', { field: '--allow-command', problem });
  }

  /** Why this input of the handler `shell` is not allowed; undefined: it is. */
  problemOf(payload: string): string | undefined {
    const input = JSON.parse(payload) as unknown;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'its input is no command';
    const { command, argv, ...more } = input as Readonly<Record<string, unknown>>;
    const extra = Object.keys(more).find((field) => field !== 'stdin');
    // A folder and variables decide what a program does, and which one it is.
    if (extra !== undefined)
      return `it sets ${extra.slice(0, 40)}, which a worker with a list of commands does not take`;
    if (argv !== undefined && command === undefined) {
      const isText = Array.isArray(argv) && argv.every((word) => typeof word === 'string');
      return isText && this.#has(argv as readonly string[]) ? undefined : NOT_LISTED;
    }
    if (typeof command !== 'string' || argv !== undefined) return 'its input is no command';
    if (this.#texts.has(command)) return undefined;
    const words = command.split(' ').filter((word) => word !== '');
    return words.every((word) => PLAIN.test(word)) && this.#has(words) ? undefined : NOT_LISTED;
  }

  #has(words: readonly string[]): boolean {
    return this.#patterns.some((pattern) => fits(pattern, words));
  }
}

const NOT_LISTED = 'its command is not on the list of this worker';
/** Words that no shell reads as anything but themselves. */
const PLAIN = /^[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:@%+,=-]*$/;

function fits(pattern: readonly string[], words: readonly string[]): boolean {
  const open = pattern.at(-1) === '*' && pattern.length > 1;
  const fixed = open ? pattern.slice(0, -1) : pattern;
  if (open ? words.length < fixed.length : words.length !== fixed.length) return false;
  return fixed.every((part, i) => fitsWord(part, words[i] as string));
}

/** From the left to the right, each part at its first place: no pattern costs more than its length times that of the word. */
function fitsWord(pattern: string, word: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  if (parts.length === 0) return word === first;
  const last = parts.pop() as string;
  if (!word.startsWith(first) || !word.endsWith(last) || word.length < first.length + last.length) return false;
  const end = word.length - last.length;
  let at = first.length;
  for (const part of parts) {
    const found = word.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

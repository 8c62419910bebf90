/** ANSI escapes of log lines: which become styles, and which are dropped. */

/** The style of a piece of a log line. A colour is one of the 16 of the theme (`0`–`15`) or a fixed one (`#rrggbb`). */
export interface TextStyle {
  readonly fg?: number | string;
  readonly bg?: number | string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly strike?: true;
  readonly inverse?: true;
}

export interface Span {
  readonly text: string;
  readonly style: TextStyle;
}

export const PLAIN: TextStyle = {};

const ESC = 0x1b;
const BEL = 0x07;

/**
 * Splits a line into pieces of text with a style. Only colours and weights (SGR) have a meaning. Every other escape is dropped
 * whole: cursor movement, titles, links (OSC), terminal commands. No control character is left in the result.
 */
export function parseAnsi(
  line: string,
  before: TextStyle = PLAIN,
): { readonly spans: readonly Span[]; readonly after: TextStyle } {
  const spans: Span[] = [];
  let style = before;
  let text = '';
  const flush = (): void => {
    if (text !== '') spans.push({ text, style });
    text = '';
  };
  for (let at = 0; at < line.length; ) {
    const code = line.charCodeAt(at);
    const escape = code === ESC ? line.charCodeAt(at + 1) : code >= 0x80 && code <= 0x9f ? code - 0x40 : -1;
    if (escape === -1) {
      // A carriage return overwrites the line, so that a progress bar shows its last state.
      if (code === 0x0d) {
        if (at < line.length - 1 && line.charCodeAt(at + 1) !== 0x0a) {
          spans.length = 0;
          text = '';
        }
      } else if (code >= 0x20 && code !== 0x7f) text += line[at];
      else if (code === 0x09) text += '\t';
      at += 1;
      continue;
    }
    const start = at + (code === ESC ? 2 : 1);
    const read = readEscape(line, start, escape);
    at = read.end;
    if (read.sgr !== undefined) {
      flush();
      style = applySgr(style, read.sgr);
    }
  }
  flush();
  return { spans, after: style };
}

/** The text without styles, for titles and lists. */
export function plainText(text: string): string {
  return text
    .split('\n')
    .map((line) =>
      parseAnsi(line)
        .spans.map((span) => span.text)
        .join(''),
    )
    .join('\n');
}

/** Where an escape ends, and its numbers if it sets a style. An escape without an end takes the rest of the line. */
function readEscape(line: string, start: number, kind: number): { readonly end: number; readonly sgr?: string } {
  if (Number.isNaN(kind)) return { end: start };
  // CSI: parameters, then one letter.
  if (kind === 0x5b) {
    let end = start;
    while (end < line.length && !(line.charCodeAt(end) >= 0x40 && line.charCodeAt(end) <= 0x7e)) {
      const code = line.charCodeAt(end);
      // The escape was cut off: text or another escape follows.
      if (code < 0x20 || code > 0x7e) return { end };
      end += 1;
    }
    const numbers = line.slice(start, end);
    return line[end] === 'm' && /^[\d;:]*$/.test(numbers) ? { end: end + 1, sgr: numbers } : { end: end + 1 };
  }
  // OSC, DCS, SOS, PM, APC: to BEL or the string terminator.
  if (kind === 0x5d || kind === 0x50 || kind === 0x58 || kind === 0x5e || kind === 0x5f) {
    for (let end = start; end < line.length; end++) {
      const code = line.charCodeAt(end);
      if (code === BEL || code === 0x9c) return { end: end + 1 };
      if (code === ESC && line[end + 1] === '\\') return { end: end + 2 };
    }
    return { end: line.length };
  }
  // Two letters, possibly with others between them, such as the choice of a character set.
  let end = start;
  if (kind >= 0x20 && kind <= 0x2f)
    while (end < line.length && line.charCodeAt(end) >= 0x20 && line.charCodeAt(end) <= 0x2f) end += 1;
  return { end: kind >= 0x20 && kind <= 0x2f ? Math.min(end + 1, line.length) : end };
}

function applySgr(before: TextStyle, numbers: string): TextStyle {
  const codes = numbers === '' ? [0] : numbers.split(/[;:]/).map(Number);
  let style: { -readonly [K in keyof TextStyle]: TextStyle[K] } = { ...before };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.strike = true;
    else if (code === 22) {
      delete style.bold;
      delete style.dim;
    } else if (code === 23) delete style.italic;
    else if (code === 24) delete style.underline;
    else if (code === 27) delete style.inverse;
    else if (code === 29) delete style.strike;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code === 39) delete style.fg;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else if (code === 49) delete style.bg;
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(i + 1));
      if (colour !== undefined) style[code === 38 ? 'fg' : 'bg'] = colour;
      i += used;
    }
  }
  return style;
}

/** `5;n` is one of 256 colours, `2;r;g;b` is any. Returns the colour and how many codes it took. */
function extended(codes: readonly number[]): readonly [number | string | undefined, number] {
  if (codes[0] === 5) {
    const n = codes[1] ?? 0;
    if (!(n >= 0 && n <= 255)) return [undefined, 2];
    if (n < 16) return [n, 2];
    if (n >= 232) return [hex([8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10]), 2];
    const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
    const cube = n - 16;
    return [hex([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]), 2];
  }
  if (codes[0] === 2) {
    const rgb = codes.slice(1, 4);
    return [rgb.length === 3 && rgb.every((part) => part >= 0 && part <= 255) ? hex(rgb) : undefined, 4];
  }
  return [undefined, 0];
}

function hex(rgb: readonly number[]): string {
  return `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

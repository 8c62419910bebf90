import { stripVTControlCharacters as plain } from 'node:util';
import { clip, widthOf } from '../../display/width.ts';

/** Lines that carry colours: how wide they are, cut, padded and wrapped without cutting a colour in two. */

const ESC = '\u001b';
const RESET = `${ESC}[0m`;
const PARTS = new RegExp(`${ESC}\\[[\\d;:]*m|[\\s\\S]`, 'gu');

export function styledWidth(text: string): number {
  return widthOf(plain(text));
}

/** At most this many columns. */
export function cut(text: string, width: number): string {
  if (!text.includes(ESC)) return clip(text, width);
  if (styledWidth(text) <= width) return text;
  let kept = '';
  let left = Math.max(0, width - 1);
  for (const [part] of text.matchAll(PARTS)) {
    const wide = part.startsWith(ESC) ? 0 : widthOf(part);
    if (wide > left) break;
    left -= wide;
    kept += part;
  }
  return `${kept}${RESET}${width < 1 ? '' : '…'}`;
}

/** Exactly this many columns. */
export function padded(text: string, width: number): string {
  const shown = cut(text, width);
  return shown + ' '.repeat(Math.max(0, width - styledWidth(shown)));
}

/** As many lines as it takes, the later ones indented like the first; at spaces where there are some. */
export function wrapped(text: string, width: number): readonly string[] {
  if (styledWidth(text) <= width || width < 10) return [cut(text, width)];
  const indent = ' '.repeat(Math.min(/^ */.exec(plain(text))?.[0].length ?? 0, Math.floor(width / 2)));
  const lines: string[] = [];
  // Whatever was painted so far is painted again on the next line: a terminal ends up in the same state.
  let colours = '';
  let line = '';
  let used = 0;
  let space = 0;
  let spaceUsed = 0;
  for (const [part] of text.matchAll(PARTS)) {
    if (part.startsWith(ESC)) {
      colours = part === RESET ? '' : colours + part;
      line += part;
      continue;
    }
    const wide = widthOf(part);
    if (used + wide > width) {
      // A space at the very end is where the line breaks anyway.
      if (part === ' ') [space, spaceUsed] = [line.length, used];
      const atSpace = spaceUsed > width / 2 && !line.slice(space).includes(ESC);
      lines.push(`${atSpace ? line.slice(0, space).trimEnd() : line}${colours === '' ? '' : RESET}`);
      const rest = atSpace ? line.slice(space) : '';
      line = `${indent}${colours}${rest}`;
      used = indent.length + styledWidth(rest);
      spaceUsed = 0;
      if (part === ' ' && rest === '') continue;
    }
    line += part;
    used += wide;
    if (part === ' ') [space, spaceUsed] = [line.length, used];
  }
  return [...lines, line];
}

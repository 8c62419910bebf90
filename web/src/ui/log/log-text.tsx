/** The text of a log line in its colours, with search results marked. */

import { memo, type ReactNode } from 'react';
import type { LogLine } from '../../live/task-log.ts';
import { parseAnsi, type TextStyle } from '../../model/ansi.ts';

export function textOf(line: LogLine): string {
  return parseAnsi(line.text)
    .spans.map(({ text }) => text)
    .join('');
}

export const Text = memo(function Text({ line, search }: { readonly line: LogLine; readonly search: string }) {
  const { spans } = parseAnsi(line.text, line.styleBefore);
  return (
    <span>
      {spans.map(({ text, style }, i) => (
        <span key={i} className={classOf(style)} style={styleOf(style)}>
          {marked(text, search)}
        </span>
      ))}
    </span>
  );
});

function classOf(style: TextStyle): string {
  const { fg, bg, bold, dim, italic, underline, strike, inverse } = style;
  return [
    typeof fg === 'number' ? `f${fg}` : '',
    typeof bg === 'number' ? `b${bg}` : '',
    bold ? 'a-bold' : '',
    dim ? 'a-dim' : '',
    italic ? 'a-italic' : '',
    underline ? 'a-underline' : '',
    strike ? 'a-strike' : '',
    inverse ? 'a-inverse' : '',
  ]
    .join(' ')
    .trim();
}

function styleOf({ fg, bg }: TextStyle) {
  return {
    ...(typeof fg === 'string' ? { color: fg } : {}),
    ...(typeof bg === 'string' ? { backgroundColor: bg } : {}),
  };
}

function marked(text: string, search: string): ReactNode {
  if (search === '') return text;
  const parts: ReactNode[] = [];
  const lower = text.toLowerCase();
  const word = search.toLowerCase();
  let from = 0;
  for (let hit = lower.indexOf(word); hit !== -1 && parts.length < 200; hit = lower.indexOf(word, hit + word.length)) {
    parts.push(text.slice(from, hit), <mark key={hit}>{text.slice(hit, hit + word.length)}</mark>);
    from = hit + word.length;
  }
  parts.push(text.slice(from));
  return parts;
}

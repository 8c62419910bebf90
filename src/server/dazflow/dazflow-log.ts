import type { LogEntry } from '../../core/task/log.ts';
import type { DazflowLine } from '../../protocol/dazflow.ts';

/** The bound of one log entry, in UTF-16 units of at most three bytes. */
const MAX_UNITS = 21_000;
/** A number below it is in seconds: in milliseconds it would be long ago. */
const LEAST_MS = 100_000_000_000;
const MAX_TIME = 8_640_000_000_000_000;

/** The lines of an agent as log entries, numbered after `last`. A line beyond the bound of an entry becomes several. */
export function entriesOf(lines: readonly DazflowLine[], last: number, now: number): readonly LogEntry[] {
  let seq = last;
  return lines.flatMap((line) => {
    const { line: text, timestamp } = typeof line === 'string' ? { line, timestamp: undefined } : line;
    const at = timeOf(timestamp) ?? Math.floor(now);
    return partsOf(text).map((part): LogEntry => ({ seq: ++seq, at, stream: 'log', text: part }));
  });
}

function timeOf(stamp: number | string | null | undefined): number | undefined {
  if (stamp === null || stamp === undefined) return undefined;
  const number = typeof stamp === 'string' ? Date.parse(stamp) : stamp < LEAST_MS ? stamp * 1000 : stamp;
  return number >= 0 && number <= MAX_TIME ? Math.floor(number) : undefined;
}

function partsOf(text: string): readonly string[] {
  if (text.length <= MAX_UNITS) return [text];
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + MAX_UNITS);
    // Not in the middle of a character.
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to--;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

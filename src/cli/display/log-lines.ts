import type { LogLineView } from '../../operate/views.ts';
import type { Format, Out } from './out.ts';
import { isolated, safeLog } from './safe.ts';
import { formatClock } from './time.ts';

const MARKS: Readonly<Record<LogLineView['stream'], readonly [mark: string, colour: Format]>> = {
  stdout: ['│', 'dim'],
  stderr: ['┃', 'red'],
  log: ['·', 'cyan'],
  progress: ['»', 'blue'],
  system: ['#', 'yellow'],
};

/**
 * One entry of a log. Each of its lines has the whole prefix, so that a line break cannot pass for another entry. In a pipe the
 * line is time, attempt, stream and text, separated by tabs.
 */
export function logLines(line: LogLineView, out: Pick<Out, 'mode' | 'paint' | 'colours'>): readonly string[] {
  const { at, attempt, stream, text } = line;
  const lines = safeLog(text.replace(/\n$/, ''), out).split('\n');
  if (out.mode !== 'screen') return lines.map((part) => [new Date(at).toISOString(), attempt, stream, part].join('\t'));
  const [mark, colour] = MARKS[stream];
  const prefix = `${out.paint('dim', formatClock(at))} ${out.paint(colour, mark)}`;
  return lines.map((part) => `${prefix} ${isolated(part)}`);
}

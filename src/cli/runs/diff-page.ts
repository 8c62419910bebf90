import type { LoopDiffView as Diff } from '../../operate/views.ts';
import type { Format, Out } from '../display/out.ts';
import { safeLine, safeText } from '../display/safe.ts';

/** How many lines each file has won and lost, and all of them. */
export function statOf({ files, stats, commits, truncated }: Diff, paint: Out['paint']): readonly string[] {
  const counts = ({ additions, deletions }: Diff['stats']): string =>
    `${paint('green', `+${additions}`)} ${paint('red', `-${deletions}`)}`;
  const rows = files.map((file) => {
    const from = file.old_path === undefined ? '' : `${safeLine(file.old_path)} → `;
    return `${file.status.padEnd(8)}  ${counts(file)}  ${from}${safeLine(file.path)}`;
  });
  const sum = `${counted(files.length, 'file')}, ${counts(stats)}, ${counted(commits.length, 'commit')}`;
  return [...rows, truncated ? `${sum}, and more` : sum];
}

/** The patches, for a screen: nothing in them moves its cursor. */
export function paintPatch(patch: string, paint: Out['paint']): string {
  return safeText(patch)
    .split('\n')
    .map((line) => {
      const format = formatOf(line);
      return format === undefined ? line : paint(format, line);
    })
    .join('\n');
}

function formatOf(line: string): Format | undefined {
  if (/^(diff |index |--- |\+\+\+ )/.test(line)) return 'bold';
  if (line.startsWith('@@')) return 'cyan';
  if (line.startsWith('+')) return 'green';
  return line.startsWith('-') ? 'red' : undefined;
}

const counted = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

import { styledWidth } from './styled-text.ts';

const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';

/**
 * What brings a terminal from one frame to the next, in one write: only lines that differ. `before` undefined: whatever stands there is
 * wiped. Where the terminal knows of it, nothing is shown before all is there.
 */
export function diffFrames(before: readonly string[] | undefined, after: readonly string[], columns: number): string {
  const parts = before === undefined ? ['\u001b[0m\u001b[2J'] : [];
  for (const [row, line] of after.entries()) {
    if (before?.[row] === line) continue;
    // After a line of full width the cursor stands on its last letter, which would be wiped.
    parts.push(`\u001b[${row + 1};1H${line}${styledWidth(line) < columns ? '\u001b[K' : ''}`);
  }
  for (let row = after.length; row < (before?.length ?? 0); row += 1) parts.push(`\u001b[${row + 1};1H\u001b[K`);
  return parts.length === 0 ? '' : `${BEGIN}${parts.join('')}${END}`;
}

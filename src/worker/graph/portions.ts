import type { TurnEntry } from '../../protocol/link.ts';

/** Of one turn, below what the engine takes. */
const MOST_ENTRIES = 900;
const MOST_BORN = 250;
const MOST_LENGTH = 512 * 1024;

/** Entries as turns can take them, in their order; at least one portion. */
export function portionsOf(entries: readonly TurnEntry[]): readonly (readonly TurnEntry[])[] {
  const portions: TurnEntry[][] = [[]];
  let born = 0;
  let length = 0;
  for (const entry of entries) {
    const own = entry.kind === 'child' ? JSON.stringify(entry.child.input ?? null).length : 100;
    const last = portions.at(-1) as TurnEntry[];
    const isBirth = entry.kind === 'child';
    const full = last.length >= MOST_ENTRIES || (isBirth && born >= MOST_BORN) || length + own > MOST_LENGTH;
    if (full && last.length > 0) {
      portions.push([entry]);
      born = 0;
      length = 0;
    } else last.push(entry);
    if (isBirth) born++;
    length += own;
  }
  return portions;
}

/**
 * The journal of one task as pages bring it, in the order of keys. What is under way changes where it stands, and what is new may
 * come anywhere: pages are read again, and entries that are the same stay the same objects, so that only what has changed is drawn.
 */

import { isFinal } from '../task-states.ts';
import type { Step } from './rows.ts';

interface JournalPage {
  /** Where it begins; undefined: at the beginning. */
  readonly cursor: string | undefined;
  /** Something in it has not ended. */
  readonly open: boolean;
}

export interface Journal {
  readonly pages: readonly JournalPage[];
  /** Where the next page begins; undefined: nothing is known beyond. */
  readonly next: string | undefined;
  readonly steps: readonly Step[];
}

export const EMPTY_JOURNAL: Journal = { pages: [], next: undefined, steps: [] };

/** A journal with a page that was read, for the first time or again. The same journal if nothing is new. */
export function withPage(
  journal: Journal,
  cursor: string | undefined,
  page: readonly Step[],
  next: string | undefined,
): Journal {
  const found = journal.pages.findIndex((one) => one.cursor === cursor);
  const at = found === -1 ? journal.pages.length : found;
  const steps = mergeSteps(journal.steps, page);
  const open = page.some(isOpen);
  const following = at + 1 < journal.pages.length ? journal.pages[at + 1]?.cursor : journal.next;
  if (steps === journal.steps && following === next && journal.pages[at]?.open === open) return journal;
  // Where pages begin elsewhere now, they are read from here on. Their entries stay until then.
  const isFitting = at + 1 < journal.pages.length && following === next;
  const after = isFitting ? journal.pages.slice(at + 1) : [];
  return {
    pages: [...journal.pages.slice(0, at), { cursor, open }, ...after],
    next: isFitting ? journal.next : next,
    steps,
  };
}

/** The entries with those of a page: what has not changed as it was, what is new behind. The same list if nothing is new. */
export function mergeSteps(stored: readonly Step[], page: readonly Step[]): readonly Step[] {
  // The node tells of the last attempt only.
  const attempt = page.find(({ kind }) => kind === 'attempt');
  const isPast = ({ kind, key }: Step): boolean => kind === 'attempt' && attempt !== undefined && key !== attempt.key;
  const before = stored.some(isPast) ? stored.filter((step) => !isPast(step)) : stored;
  const known = new Map(before.map((step, i) => [step.key, i]));
  let merged: Step[] | undefined;
  for (const step of page) {
    const at = known.get(step.key);
    if (at !== undefined && isSame(before[at] as Step, step)) continue;
    merged ??= [...before];
    if (at === undefined) merged.push(step);
    else merged[at] = step;
  }
  return merged ?? before;
}

function isSame(a: Step, b: Step): boolean {
  return (
    a.at === b.at &&
    a.began === b.began &&
    a.ended === b.ended &&
    a.state === b.state &&
    a.child === b.child &&
    a.name === b.name &&
    a.kind === b.kind &&
    a.attempt === b.attempt &&
    a.forkable === b.forkable
  );
}

/**
 * Pages to read again: the last one, at whose end machines write, those with something that has not ended, and each of the others
 * in its turn.
 */
export function staleCursors({ pages }: Journal, turn: number): readonly (string | undefined)[] {
  if (pages.length === 0) return [undefined];
  return pages.flatMap(({ cursor, open }, i) =>
    open || i === pages.length - 1 || i === turn % pages.length ? [cursor] : [],
  );
}

function isOpen({ kind, state }: Step): boolean {
  return (kind === 'child' || kind === 'attempt') && state !== undefined && !isFinal(state);
}

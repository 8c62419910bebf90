import type { Lease } from '../core/task/lease.ts';
import type { EntryAnswer, NewChild, NewEntry, Park, Turn, TurnAnswer } from './port/turn-store.ts';

/** What the stores share of turns and parks. */

export type TurnDone = TurnAnswer & { readonly kind: 'done' };
export type AfterTurn = Pick<TurnDone, 'went' | 'body' | 'key' | 'budget'>;

export const LOST: TurnAnswer = { kind: 'lost' };
export const NONE: EntryAnswer = { kind: 'none' };
export const STORED: EntryAnswer = { kind: 'stored' };

type Written = (entry: NewEntry) => { readonly attempt: number } | undefined;

/** Whether this attempt has written all entries of the turn before. One without entries cannot be told from another. */
export function isRepeat(turn: Turn, known: Written): boolean {
  return turn.entries.length > 0 && allWritten(turn, known);
}

export function allWritten({ entries, attempt }: Turn, known: Written): boolean {
  return entries.every((entry) => known(entry)?.attempt === attempt);
}

/** A park whose children are known by their numbers. */
export interface ParkItem extends Lease, Omit<Park, 'children'> {
  readonly children?: readonly number[] | undefined;
}

/**
 * The existing tasks that must end before a turn that parks goes on, by themselves or through its new children. `refOf`: the
 * task of a child that an earlier turn has made. None where a time or a signal may wake it, or where some of its children are
 * enough: such a wait ends, whatever the others wait for.
 */
export function awaitedBy({ entries, then }: Turn, refOf: (key: string) => number | undefined): readonly number[] {
  if (then.go !== 'park' || then.children === undefined) return [];
  if (then.timeoutMs !== undefined || then.channel !== undefined) return [];
  const all = new Set(then.children);
  if ((then.need ?? all.size) < all.size) return [];
  const born = new Map(
    entries.filter((entry): entry is NewChild => entry.kind === 'child').map((one) => [one.key, one]),
  );
  // The set grows during the loop.
  for (const child of all) {
    if (typeof child === 'number') continue;
    const ref = refOf(child);
    if (ref !== undefined) all.add(ref);
    else for (const edge of born.get(child)?.after ?? []) all.add(edge.task ?? (edge.child as string));
  }
  return [...all].filter((child) => typeof child === 'number');
}

/** Refuses a wait that could never end. */
export function circleIn({ then }: Turn): TurnAnswer {
  return { kind: 'refused', key: then.go === 'park' ? then.key : '', why: { circle: true } };
}

/** Woken by a signal on one of its channels. */
export function wokenBy(
  { key: first }: Park,
  { key, body }: { readonly key: string; readonly body: string | null | undefined },
): { readonly went: 'woken'; readonly body: string | undefined; readonly key?: string } {
  return { went: 'woken', body: body ?? undefined, ...(key === first ? {} : { key }) };
}

export interface Need {
  /** The children that have not ended. */
  readonly open: readonly number[];
  /** After this many ends of them the task goes on. */
  readonly ends: number;
}

export function needOf(
  children: readonly number[],
  need: number | undefined,
  isOpen: (child: number) => boolean,
): Need {
  const all = new Set(children);
  const open = [...all].filter(isOpen);
  return { open, ends: Math.min(need ?? all.size, all.size) - (all.size - open.length) };
}

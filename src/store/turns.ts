import type { Lease } from '../core/task/lease.ts';
import type { EntryAnswer, Park, TurnAnswer } from './port/turn-store.ts';

/** What the stores share of turns and parks. */

export type TurnDone = TurnAnswer & { readonly kind: 'done' };
export type AfterTurn = Pick<TurnDone, 'went' | 'body'>;

export const LOST: TurnAnswer = { kind: 'lost' };
export const NONE: EntryAnswer = { kind: 'none' };
export const STORED: EntryAnswer = { kind: 'stored' };

/** A park whose children are known by their numbers. */
export interface ParkItem extends Lease, Omit<Park, 'children'> {
  readonly children?: readonly number[] | undefined;
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

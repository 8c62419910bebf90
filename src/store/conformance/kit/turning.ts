import type { Lease } from '../../../core/task/lease.ts';
import type { EntryAnswer, Park, Store, Turn, TurnAnswer } from '../../store.ts';

/** Turns with one entry or one end, and their answers. */

export type ParkItem = Lease & Park;
export type ParkAnswer =
  | { readonly kind: 'parked' | 'cancelled' | 'lost' }
  | { readonly kind: 'woken'; readonly body: string | undefined };

export function parkTurn({ task, attempt, ...park }: ParkItem): Turn {
  return { task, attempt, entries: [], then: { go: 'park', ...park } };
}

export function parkAnswer(answer: TurnAnswer): ParkAnswer {
  if (answer.kind !== 'done') return { kind: 'lost' };
  if (answer.went === 'woken') return { kind: 'woken', body: answer.body };
  return { kind: answer.went === 'parked' || answer.went === 'cancelled' ? answer.went : 'lost' };
}

export async function parkAll(store: Store, items: readonly ParkItem[]): Promise<readonly ParkAnswer[]> {
  return (await store.taskTurn({ items: items.map(parkTurn) })).map(parkAnswer);
}

export interface ValueItem extends Lease {
  readonly key: string;
  readonly value: string;
}
export type ValueAnswer = EntryAnswer | { readonly kind: 'lost' };

export function valueTurn({ task, attempt, key, value }: ValueItem): Turn {
  return { task, attempt, entries: [{ key, kind: 'value', value }], then: { go: 'on' } };
}

export function valueAnswer(answer: TurnAnswer): ValueAnswer {
  return answer.kind === 'done' ? (answer.entries[0] as EntryAnswer) : { kind: 'lost' };
}

export async function rememberAll(store: Store, items: readonly ValueItem[]): Promise<readonly ValueAnswer[]> {
  return (await store.taskTurn({ items: items.map(valueTurn) })).map(valueAnswer);
}

import type { Assignment, ChildRequest, Session, TurnEntry, Turned, TurnThen, WaitFor } from '../../protocol/link.ts';

/** Turns with one entry each, and what they return. */

export const ON: TurnThen = { go: 'on' };

/** Stores a value, and returns the stored text of the key. */
export async function remember(
  session: Session,
  lease: Assignment,
  key: string,
  value: unknown,
): Promise<string | null | undefined> {
  return (await session.turn(lease, { entries: [{ key, kind: 'value', value }], then: ON })).entries[0];
}

export function park(session: Session, lease: Assignment, wait: WaitFor): Promise<Turned> {
  return session.turn(lease, { entries: [], then: { go: 'park', ...wait } });
}

/** A child in a queue without workers, unless the case says otherwise. */
export function childEntry(key: string, child: Partial<ChildRequest> = {}): TurnEntry {
  return { key, kind: 'child', child: { queue: 'children', handler: 'play', input: { n: 1 }, ...child } };
}

export async function spawn(
  session: Session,
  lease: Assignment,
  child: Partial<ChildRequest> = {},
  key = 'child',
): Promise<{ readonly id: string; readonly task: number }> {
  const { entries } = await session.turn(lease, { entries: [childEntry(key, child)], then: ON });
  return childOf(entries[0]);
}

/** A child from the text of its entry. */
export function childOf(text: string | null | undefined): { readonly id: string; readonly task: number } {
  return JSON.parse(text ?? 'null') as { id: string; task: number };
}

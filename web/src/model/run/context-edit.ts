/** The editor of a machine's context: one JSON text for each entry. What differs from the stored value becomes a change. */

import { prettyJson } from '../json.ts';

export interface ContextDraft {
  readonly name: string;
  /** As JSON. */
  readonly text: string;
  readonly removed: boolean;
  /** The text as it was; undefined: the entry is new. */
  readonly was: string | undefined;
}

export interface ContextChanges {
  /** Null takes an entry away. */
  readonly changes: Readonly<Record<string, unknown>>;
  readonly count: number;
  /** By the position of the draft. */
  readonly problems: ReadonlyMap<number, string>;
}

/** What a machine knows of itself. It writes that anew. */
const OWN = 'machine';

export function draftsOf(context: unknown): readonly ContextDraft[] {
  if (typeof context !== 'object' || context === null || Array.isArray(context)) return [];
  return Object.entries(context).flatMap(([name, value]) => {
    if (name === OWN) return [];
    const text = prettyJson(value);
    return [{ name, text, was: text, removed: false }];
  });
}

export const newDraft = (): ContextDraft => ({ name: '', text: '', was: undefined, removed: false });

export function changesOf(drafts: readonly ContextDraft[]): ContextChanges {
  const changes: [string, unknown][] = [];
  const problems = new Map<number, string>();
  const names = new Set<string>();
  for (const [i, { name, text, removed, was }] of drafts.entries()) {
    const isNew = was === undefined;
    if (isNew && (removed || (name.trim() === '' && text.trim() === ''))) continue;
    if (name.trim() === '') problems.set(i, 'An entry needs a name');
    else if (names.has(name.trim())) problems.set(i, 'Another entry has this name');
    names.add(name.trim());
    if (removed) changes.push([name, null]);
    else if (text !== was) {
      const value = parsed(text);
      if (value === undefined) problems.set(i, 'This is not JSON. A text is written in quotes');
      else if (value.value === null) problems.set(i, 'Null takes an entry away: remove it instead');
      else changes.push([name.trim(), value.value]);
    }
  }
  return { changes: Object.fromEntries(changes), count: changes.length, problems };
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

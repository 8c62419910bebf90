import type { Value, ValueMap } from './values.ts';

export interface Scope {
  /** The value of a name, or undefined. */
  readonly get: (name: string) => Value;
  readonly has: (name: string) => boolean;
  readonly names: () => readonly string[];
}

/** Names and their values, of which an inner scope hides those of the outer one. */
export function scopeOf(values: ValueMap, outer?: Scope): Scope {
  return {
    get: (name) => (Object.hasOwn(values, name) ? values[name] : outer?.get(name)),
    has: (name) => Object.hasOwn(values, name) || (outer?.has(name) ?? false),
    names: () => [...new Set([...Object.keys(values), ...(outer?.names() ?? [])])],
  };
}

import { Calls } from '../calls.ts';
import type { SqliteParts } from '../parts.ts';
import { Watchers } from '../watchers.ts';

/** What the parts of one store share. */
export interface StoreParts extends SqliteParts {
  readonly calls: Calls;
  readonly watchers: Watchers;
}

export function storeParts(parts: SqliteParts): StoreParts {
  const watchers = new Watchers(parts);
  return { ...parts, watchers, calls: new Calls(parts.writer, watchers) };
}

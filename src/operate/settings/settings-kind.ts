import type { Entry } from '../../core/settings/compare.ts';
import type { SettingsWord } from '../../core/settings/kinds.ts';
import type { Caller } from '../operator.ts';

/** What is told of a thing once it was put: shown this once. */
export interface Told {
  /** The command that a new worker joins with. */
  readonly join?: string;
  /** What the sender of a webhook signs with. */
  readonly secret?: string;
}

/** One kind of things in a file of settings: how it is read there, how it is read from a store or a node, and how it is changed. */
export interface SettingsKind {
  readonly word: SettingsWord;
  /** What a file says of one of them, in canonical form. Throws `INVALID_INPUT`. */
  readonly read: (name: string, value: unknown) => Entry;
  /** Fields that stay as they are where a file does not say them. */
  readonly keeps?: readonly string[];
  /** Those that are there; of `named` also those that have nothing but defaults. */
  readonly list: (caller: Caller, named: ReadonlySet<string>) => Promise<ReadonlyMap<string, Entry>>;
  readonly put: (caller: Caller, change: Putting) => Promise<Told | undefined>;
  readonly remove: (caller: Caller, name: string, by: string) => Promise<unknown>;
}

export interface Putting {
  readonly name: string;
  readonly wanted: Entry;
  /** Undefined: it is new. */
  readonly is: Entry | undefined;
  readonly by: string;
}

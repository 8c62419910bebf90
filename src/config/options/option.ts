import type { Parse } from '../parse.ts';

export interface Option<T = unknown> {
  /** One sentence without a full stop, for the help and the reference page. */
  readonly doc: string;
  /** The flag, where it is not the key: two commands may mean different things by one word. No command takes both. */
  readonly flag?: string;
  /** What stands for the value in the help; absent for a switch, which takes none. */
  readonly value?: string;
  /** One letter, for what is typed often: `-f`. */
  readonly short?: string;
  /** May be given several times; each time adds to the list. */
  readonly many?: true;
  /** A switch that is on, so that its flag is the one that turns it off: `--no-worker`. */
  readonly negatable?: true;
  /** A switch that changes what is kept, and so may be said both ways: `--rate-per-key`, `--no-rate-per-key`. */
  readonly either?: true;
  /** A number that may be below zero, so that `-5` is its value and not a forgotten one. */
  readonly signed?: true;
  readonly parse: Parse<T>;
  /** Environment variables, the best name first. What belongs to one call has none. */
  readonly env: readonly string[];
  /** Reads what a variable says, where that differs from the flag. */
  readonly parseEnv?: Parse<T>;
  /** What somebody else puts under one of these names and does not mean for us: it counts as absent. */
  readonly foreignEnv?: RegExp;
  /** Worked out from the options before it, so that an option may follow another one. */
  readonly fallback: (sofar: { readonly dataDir: string }) => T;
  /** The default in words, where the value itself would not do. */
  readonly fallbackDoc?: string;
}

export type OptionTable = Readonly<Record<string, Option>>;

import type { Parse } from '../parse.ts';

export interface Option<T = unknown> {
  /** One sentence without a full stop, for the help and the reference page. */
  readonly doc: string;
  /** The flag, where it is not the key: two commands may use one word for different things. No command takes both. */
  readonly flag?: string;
  /** The placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  /** One letter for a frequent option: `-f`. */
  readonly short?: string;
  /** May be given several times; each time adds to the list. */
  readonly many?: true;
  /** A switch that is on by default; its flag turns it off: `--no-worker`. */
  readonly negatable?: true;
  /** A switch that changes a stored value, and so has both forms: `--rate-per-key`, `--no-rate-per-key`. */
  readonly either?: true;
  /** A number that may be below zero: `-5` is its value, not a flag. */
  readonly signed?: true;
  readonly parse: Parse<T>;
  /** Environment variables, the preferred name first. An option of a single call has none. */
  readonly env: readonly string[];
  /** Parses the variable, where that differs from the flag. */
  readonly parseEnv?: Parse<T>;
  /** A value that other programs set under one of these names: it counts as absent. */
  readonly foreignEnv?: RegExp;
  /** The default. It may depend on the options before it. */
  readonly fallback: (sofar: { readonly dataDir: string }) => T;
  /** The default in words, where the value itself would not do. */
  readonly fallbackDoc?: string;
}

export type OptionTable = Readonly<Record<string, Option>>;

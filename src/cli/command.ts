import type { OptionKey } from '../config/options.ts';

/** One word of the command line. */
export interface Command {
  readonly name: string;
  /** One sentence without a full stop, for the help. */
  readonly doc: string;
  readonly options: readonly OptionKey[];
  /** Resolves to the exit status; whatever it throws is shown and mapped in `main.ts`. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

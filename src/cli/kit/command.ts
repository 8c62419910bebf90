import type { Usage } from '../../config/load.ts';

/** One word of the command line, or two: `push`, `tasks list`. */
export interface Command extends Usage {
  /** As it is typed after `leasehold`. */
  readonly name: string;
  /** One sentence without a full stop, for the help. */
  readonly doc: string;
  /** What one types first, and what it does; for the help. */
  readonly examples?: readonly Example[];
  /** Resolves to the exit status; whatever it throws is shown and mapped in `main.ts`. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

export interface Example {
  /** What follows `leasehold`. */
  readonly line: string;
  readonly does: string;
}

/** A command that is loaded when it is asked for, with its sentence, so that the list of commands loads none of them. */
export interface Entry {
  readonly doc: string;
  readonly load: () => Promise<Command>;
}

/** A word that leads to several commands: `tasks list`, `tasks show`. */
export interface Group {
  readonly doc: string;
  readonly commands: Readonly<Record<string, Entry>>;
}

export function isGroup(entry: Entry | Group): entry is Group {
  return 'commands' in entry;
}

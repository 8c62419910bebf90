import type { Usage } from '../../config/load.ts';

/** A command of one word or two: `push`, `tasks list`. */
export interface Command extends Usage {
  /** As it is typed after `leasehold`. */
  readonly name: string;
  /** One sentence without a full stop, for the help. */
  readonly doc: string;
  /** First examples, for the help. */
  readonly examples?: readonly Example[];
  /** Resolves to the exit status. `main.ts` prints an error and maps it to a status. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

export interface Example {
  /** The line after `leasehold`. */
  readonly line: string;
  readonly does: string;
}

/** A command that is loaded on demand. Its sentence is here, so that the list of commands loads none of them. */
export interface Entry {
  readonly doc: string;
  readonly load: () => Promise<Command>;
}

/** The first word of several commands: `tasks list`, `tasks show`. */
export interface Group {
  readonly doc: string;
  readonly commands: Readonly<Record<string, Entry>>;
  /** The command that the first word alone is short for. */
  readonly alone?: string;
}

export function isGroup(entry: Entry | Group): entry is Group {
  return 'commands' in entry;
}

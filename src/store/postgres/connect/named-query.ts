import pg from 'pg';

/** A column of a statement, and how its text becomes a value. */
export interface Column {
  readonly name: string;
  readonly read: (text: string) => unknown;
}

/** The columns of the statements that a session has prepared, by name. A plan whose columns change fails the statement, and ends the session. */
export type KnownColumns = Map<string, readonly Column[]>;

export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** How rows are given. */
export type RowForm = 'array' | 'object';

/** What is used of the driver's connection. */
interface Wire {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
  readonly stream: { cork(): void; uncork(): void };
  parse(message: { readonly name: string; readonly text: string }): void;
  bind(message: { readonly statement: string; readonly values: readonly unknown[] }): void;
  describe(message: { readonly type: 'P' }): void;
  execute(message: undefined): void;
  sync(): void;
}

interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/** How the driver writes a value as text; its types do not tell of it. */
const { prepareValue } = (pg as unknown as { readonly utils: { readonly prepareValue: (value: unknown) => unknown } })
  .utils;

/**
 * A prepared statement under way, in the place of the driver's own query object. It asks for the columns once a session instead of at every
 * run, copies no options, and has no timer, emitter or second promise. A push of a lone caller takes 0.6 of the CPU of its process that it took (5 alternating pairs, a busy machine).
 */
export class NamedQuery {
  /** Read by the driver: which statement the server is preparing. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly unknown[];
  readonly #form: RowForm;
  readonly #known: KnownColumns;
  readonly #types: pg.CustomTypesConfig;
  readonly #end: (error: unknown, rows: readonly unknown[]) => void;
  readonly #rows: unknown[] = [];
  #columns: readonly Column[] | undefined;
  #unreadable: unknown;
  #ended = false;

  constructor(
    { name, text, values }: NamedStatement,
    form: RowForm,
    { known, types }: { readonly known: KnownColumns; readonly types: pg.CustomTypesConfig },
    end: (error: unknown, rows: readonly unknown[]) => void,
  ) {
    this.name = name;
    this.text = text;
    this.#values = values;
    this.#form = form;
    this.#known = known;
    this.#types = types;
    this.#end = end;
    this.#columns = known.get(name);
  }

  /** Called by the driver when it is its turn: all messages leave in one write. An error that is returned comes back to `handleError`. */
  submit(connection: pg.Connection): Error | undefined {
    const wire = connection as unknown as Wire;
    let values: readonly unknown[];
    try {
      // Before anything is sent: a value that cannot be sent leaves the session as it was.
      values = this.#values.map((value) => prepareValue(value));
    } catch (error) {
      return error as Error;
    }
    wire.stream.cork();
    try {
      this.#send(wire, values);
    } finally {
      wire.stream.uncork();
    }
    return undefined;
  }

  #send(wire: Wire, values: readonly unknown[]): void {
    const { name, text } = this;
    if (wire.parsedStatements[name] === undefined && wire.submittedNamedStatements[name] === undefined) {
      wire.parse({ name, text });
      wire.submittedNamedStatements[name] = text;
    }
    wire.bind({ statement: name, values });
    if (this.#columns === undefined) wire.describe({ type: 'P' });
    wire.execute(undefined);
    wire.sync();
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      read: this.#types.getTypeParser(dataTypeID, 'text') as (text: string) => unknown,
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#unreadable !== undefined) return;
    try {
      const columns = this.#columns ?? [];
      this.#rows.push(this.#form === 'array' ? asArray(columns, fields) : asObject(columns, fields));
    } catch (error) {
      this.#unreadable = error;
    }
  }

  handleCommandComplete(): void {
    // The server describes no columns where there are none.
    if (!this.#known.has(this.name)) this.#known.set(this.name, this.#columns ?? []);
  }

  handleReadyForQuery(): void {
    if (this.#unreadable === undefined) this.#finish(undefined);
    else this.fail(this.#unreadable);
  }

  handleError(error: unknown): void {
    this.fail(error);
  }

  /** Ends it for its caller, whatever still comes. */
  fail(error: unknown): void {
    this.#finish(error ?? new Error('the statement failed'));
  }

  #finish(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#end(error, this.#rows);
  }
}

function asArray(columns: readonly Column[], fields: readonly (string | null)[]): readonly unknown[] {
  const row: unknown[] = [];
  for (let i = 0; i < columns.length; i++) {
    const text = fields[i] as string | null;
    row.push(text === null ? null : (columns[i] as Column).read(text));
  }
  return row;
}

function asObject(columns: readonly Column[], fields: readonly (string | null)[]): object {
  const row: Record<string, unknown> = {};
  for (let i = 0; i < columns.length; i++) {
    const { name, read } = columns[i] as Column;
    const text = fields[i] as string | null;
    row[name] = text === null ? null : read(text);
  }
  return row;
}

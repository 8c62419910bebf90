/** How a column is sent: as a number, a text, a boolean, or a list that Postgres parses from text. */
type Kind = 'number' | 'text' | 'truth' | 'list';

export interface Column {
  readonly name: string;
  readonly kind: Kind;
  /** The type in Postgres. */
  readonly type: string;
}

export interface Transfer {
  readonly table: string;
  readonly columns: readonly Column[];
  /** Reads the columns from SQLite, in order. `:server` and `:lease` are the present times of the two clocks. */
  readonly select: string;
}

export const numbers = (type: string, ...names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name, kind: 'number', type }));
export const texts = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name, kind: 'text', type: 'text' }));
export const truth = (name: string): readonly Column[] => [{ name, kind: 'truth', type: 'boolean' }];
export const list = (type: string, name: string): readonly Column[] => [{ name, kind: 'list', type }];

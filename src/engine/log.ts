/** The logger of the engine. The composition root decides where its lines go. */
export interface Log {
  /** Each lease from its grant to its end. Absent: nobody reads it, and nothing is spent on it. */
  readonly debug?: ((message: string, fields?: Readonly<Record<string, unknown>>) => void) | undefined;
  readonly info: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly warn: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly error: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

export const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** Where the engine says what happened to it; the composition root decides what becomes of it. */
export interface Log {
  readonly info: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly warn: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly error: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

export const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} };

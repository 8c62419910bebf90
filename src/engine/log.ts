/** The logger of the engine. The composition root decides where its lines go. */
export interface Log {
  readonly info: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly warn: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly error: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

export const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** What is wrong with an expression or a template, and where in its source. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  /** Offset in the source, of which `expected` and the message speak. */
  readonly at: number;
  /** A budget was used up: a larger input may be fine in a smaller expression, so nothing is wrong with the words. */
  readonly overBudget: boolean;

  constructor(message: string, at: number, { overBudget = false }: { readonly overBudget?: boolean } = {}) {
    super(message);
    this.at = at;
    this.overBudget = overBudget;
  }
}

/** Line and column of an offset, both from 1. */
export function placeOf(source: string, at: number): { readonly line: number; readonly column: number } {
  const before = source.slice(0, at);
  const line = before.split('\n').length;
  return { line, column: at - before.lastIndexOf('\n') };
}

/** The message with its place in words: `column 7: …`, with the line if there are several. */
export function describe(error: ExpressionError, source: string): string {
  const { line, column } = placeOf(source, error.at);
  const place = source.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`;
  return `${place}: ${error.message}`;
}

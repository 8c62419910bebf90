import { ExpressionError } from './expression-error.ts';

/** What a source is refused for. Anything else that it throws goes on. */
export function problemIn(source: string, evaluate: (source: string) => unknown): ExpressionError {
  try {
    evaluate(source);
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error(`${source} has no problem`);
}

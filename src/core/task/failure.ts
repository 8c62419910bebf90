import { encodePayload } from './payload.ts';

const ERROR = { field: 'error' } as const;

/** The JSON text that is stored for whatever a handler threw; for an error its name, message, code and stack. */
export function describeFailure(error: unknown): string {
  try {
    if (!(error instanceof Error)) return encodePayload(error, ERROR);
    const { name, message, stack } = error;
    const { code } = error as { code?: unknown };
    return encodePayload({ name, message, ...(typeof code === 'string' ? { code } : {}), stack }, ERROR);
  } catch {
    return encodePayload({ message: plainText(error) }, ERROR);
  }
}

function plainText(error: unknown): string {
  let text = 'an error that cannot be told';
  try {
    text = String(error);
  } catch {
    // Its own conversion fails, so there is nothing more to learn.
  }
  return text.slice(0, 10_000).toWellFormed().replaceAll('\u0000', '\ufffd');
}

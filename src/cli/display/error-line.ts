/** An error in one line. An error of a handler is stored as `{ name, message, stack }`, but a handler may throw any value. */
export function errorLine(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return JSON.stringify(error) ?? '';
  const { name, message } = error as { readonly name?: unknown; readonly message?: unknown };
  if (typeof message !== 'string') return JSON.stringify(error);
  return typeof name === 'string' && name !== 'Error' && name !== '' ? `${name}: ${message}` : message;
}

/** The error of a handler, with a code that a program can read; `details` travel only where errors are not copied. */
export function failure(code: string, message: string, details: Readonly<Record<string, unknown>> = {}): Error {
  return Object.assign(new Error(message), { code }, details);
}

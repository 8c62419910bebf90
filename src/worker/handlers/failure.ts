/** The error of a handler, with a code for programs. `details` are lost where an error is copied. */
export function failure(code: string, message: string, details: Readonly<Record<string, unknown>> = {}): Error {
  return Object.assign(new Error(message), { code }, details);
}

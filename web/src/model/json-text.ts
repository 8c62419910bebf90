/** JSON that somebody types. */

export type JsonText =
  /** Nothing was written: there is no value. */
  { readonly ok: true; readonly value?: unknown } | { readonly ok: false; readonly problem: string };

export function jsonIn(text: string): JsonText {
  if (text.trim() === '') return { ok: true };
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${(error as Error).message}` };
  }
}

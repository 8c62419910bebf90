/** What has changed between two states of a thing, field by field. */

export interface FieldDiff {
  /** With dots where it lies deeper: `rate.max`. */
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly changed: boolean;
}

/** The fields of both, those that changed first. A thing that was made or removed has fields on one side only. */
export function diffOf(before: unknown, after: unknown): readonly FieldDiff[] {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const fields = [...new Set([...was.keys(), ...is.keys()])];
  const all = fields.map((field) => {
    const [from, to] = [was.get(field), is.get(field)];
    return { field, before: from, after: to, changed: from !== to };
  });
  return [...all.filter(({ changed }) => changed), ...all.filter(({ changed }) => !changed)];
}

function fieldsOf(thing: unknown, prefix = ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (typeof thing !== 'object' || thing === null) return found;
  for (const [key, value] of Object.entries(thing)) {
    const field = prefix + key;
    if (isPlain(value)) for (const [deeper, text] of fieldsOf(value, `${field}.`)) found.set(deeper, text);
    else found.set(field, textOf(value));
  }
  return found;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.every((one) => typeof one !== 'object') ? value.join(', ') || 'none' : JSON.stringify(value);
}

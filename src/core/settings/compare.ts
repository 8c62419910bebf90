/** Settings of one thing in their canonical form: JSON, without fields that have their default. */
export type Entry = Readonly<Record<string, unknown>>;

export interface FieldChange {
  /** Such as `policy.max`. */
  readonly path: string;
  /** Undefined: it was not there. */
  readonly from?: unknown;
  /** Undefined: it goes. */
  readonly to?: unknown;
}

export interface ThingChange {
  readonly name: string;
  readonly does: 'create' | 'change' | 'remove';
  readonly fields: readonly FieldChange[];
}

export interface CompareOptions {
  /** Things that are not wanted are removed; else they stay. */
  readonly prune: boolean;
}

/** What leads from what is to what is wanted, by name. Both in canonical form: equal settings are equal JSON. */
export function compareThings(
  wanted: ReadonlyMap<string, Entry>,
  is: ReadonlyMap<string, Entry>,
  { prune }: CompareOptions,
): readonly ThingChange[] {
  const changes: ThingChange[] = [];
  for (const [name, entry] of wanted) {
    const before = is.get(name);
    const fields = fieldsBetween(before ?? {}, entry);
    if (before === undefined) changes.push({ name, does: 'create', fields });
    else if (fields.length > 0) changes.push({ name, does: 'change', fields });
  }
  if (prune) {
    for (const [name, entry] of is)
      if (!wanted.has(name)) changes.push({ name, does: 'remove', fields: fieldsBetween(entry, {}) });
  }
  return changes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The fields that differ. Objects are compared field by field, lists as a whole. */
export function fieldsBetween(from: Entry, to: Entry, path = ''): readonly FieldChange[] {
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  return keys.flatMap((key) => {
    const [before, after] = [own(from, key), own(to, key)];
    const at = path === '' ? key : `${path}.${key}`;
    if (isMap(before) && isMap(after)) return fieldsBetween(before, after, at);
    if (isSame(before, after)) return [];
    return [
      { path: at, ...(before === undefined ? {} : { from: before }), ...(after === undefined ? {} : { to: after }) },
    ];
  });
}

/** As JSON, whatever the order of fields. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => isSame(one, b[i]));
  if (isMap(a) && isMap(b)) return fieldsBetween(a, b).length === 0;
  return a === b;
}

const own = (entry: Entry, key: string): unknown => (Object.hasOwn(entry, key) ? entry[key] : undefined);

function isMap(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

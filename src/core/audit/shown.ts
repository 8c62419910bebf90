/**
 * Which fields of a thing the audit may show: the only ones that are ever written. `true`: a scalar, or a list of scalars. A shape: an object
 * with these fields, or a list of such objects. Whatever is not named is left out, so that a new field with a secret is never written by
 * oversight.
 */
export interface Shape {
  readonly [field: string]: true | Shape;
}

const MOST_TEXT = 200;
const MOST_ITEMS = 50;
/** Of the whole, as JSON. */
const MOST_JSON = 4096;

type Scalar = string | number | boolean;
type Shown = Scalar | readonly Shown[] | { readonly [field: string]: Shown };

/** The allowed part of a thing as JSON; undefined: nothing of it may be shown. */
export function shownOf(thing: unknown, shape: Shape): string | undefined {
  const shown = picked(thing, shape);
  if (shown === undefined || Object.keys(shown).length === 0) return undefined;
  const text = JSON.stringify(shown);
  if (text.length <= MOST_JSON) return text;
  return shortened(shown as Readonly<Record<string, Shown>>);
}

/** The fields from the first on, as many as fit, and the word that some are missing. */
function shortened(shown: Readonly<Record<string, Shown>>): string {
  const kept: Record<string, Shown> = {};
  for (const [field, value] of Object.entries(shown)) {
    if (JSON.stringify({ ...kept, [field]: value, cut: true }).length <= MOST_JSON) kept[field] = value;
  }
  return JSON.stringify({ ...kept, cut: true });
}

function picked(thing: unknown, shape: Shape): Shown | undefined {
  if (Array.isArray(thing)) return some(thing, (one) => picked(one, shape));
  if (typeof thing !== 'object' || thing === null) return undefined;
  const fields: [string, Shown][] = [];
  for (const [field, allowed] of Object.entries(shape)) {
    if (!Object.hasOwn(thing, field)) continue;
    const value: unknown = (thing as Readonly<Record<string, unknown>>)[field];
    const shown = allowed === true ? plain(value) : picked(value, allowed);
    if (shown !== undefined) fields.push([field, shown]);
  }
  return Object.fromEntries(fields);
}

function plain(value: unknown): Shown | undefined {
  return Array.isArray(value) ? some(value, scalar) : scalar(value);
}

/** An object where only a scalar is allowed is left out: nobody has looked at its fields. */
function scalar(value: unknown): Scalar | undefined {
  if (typeof value === 'string') return value.length <= MOST_TEXT ? value : `${value.slice(0, MOST_TEXT)}…`;
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

function some(items: readonly unknown[], show: (one: unknown) => Shown | undefined): readonly Shown[] {
  return items.slice(0, MOST_ITEMS).flatMap((one) => show(one) ?? []);
}

import type { z } from 'zod';
import { fault } from '../../core/errors.ts';

/** Entries of a list whose shape sets no bound: as many as the longest list that has one. */
const MOST_ENTRIES = 20_000;

/** A list that is too long, and where it stands. */
interface LongList {
  readonly path: readonly (string | number)[];
  readonly most: number;
}
type Check = (value: unknown) => LongList | undefined;

const checks = new WeakMap<z.core.$ZodType, Check | undefined>();

/**
 * Refuses a list that is longer than its shape allows before its entries are looked at. The validation itself looks at all
 * of them first: a list of two million empty objects stopped the event loop for seconds.
 */
export function refuseLongLists(where: string, shape: z.ZodType, value: unknown): void {
  const found = checkFor(shape)?.(value);
  if (found === undefined) return;
  const field = [where, ...found.path].join('.');
  throw fault('INVALID_INPUT', { field, problem: `it has more than ${found.most} entries` });
}

function checkFor(shape: z.core.$ZodType): Check | undefined {
  if (checks.has(shape)) return checks.get(shape);
  // A shape that contains itself finds this one meanwhile.
  let made: Check | undefined;
  checks.set(shape, (value) => made?.(value));
  made = makeCheck(shape as z.core.$ZodTypes);
  checks.set(shape, made);
  return made;
}

function makeCheck(shape: z.core.$ZodTypes): Check | undefined {
  const { def } = shape._zod;
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- values of all other kinds hold no list
  switch (def.type) {
    case 'object':
      return ofObject(Object.entries(def.shape));
    case 'array':
      return ofArray(checkFor(def.element), mostOf(def.checks));
    case 'record':
      return ofRecord(checkFor(def.valueType));
    case 'union':
      return ofUnion(def.options, (def as { readonly discriminator?: string }).discriminator);
    case 'pipe':
      return checkFor(def.in);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
    case 'nonoptional':
    case 'catch':
      return checkFor(def.innerType);
    case 'lazy':
      return (value) => checkFor(def.getter())?.(value);
    default:
      return undefined;
  }
}

function mostOf(given: readonly z.core.$ZodCheck<never>[] | undefined): number {
  for (const { _zod } of given ?? []) {
    const { check, maximum } = _zod.def as { readonly check: string; readonly maximum?: number };
    if (check === 'max_length' && maximum !== undefined) return maximum;
  }
  return MOST_ENTRIES;
}

function ofArray(entry: Check | undefined, most: number): Check {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    if (value.length > most) return { path: [], most };
    return entry === undefined ? undefined : firstOf(value.keys(), (at) => entry(value[at]));
  };
}

function ofObject(fields: readonly (readonly [string, z.core.$ZodType])[]): Check | undefined {
  const checked = new Map<string, Check>();
  for (const [name, shape] of fields) {
    const check = checkFor(shape);
    if (check !== undefined) checked.set(name, check);
  }
  if (checked.size === 0) return undefined;
  return (value) => (isObject(value) ? firstOf(checked.keys(), (name) => checked.get(name)?.(value[name])) : undefined);
}

function ofRecord(entry: Check | undefined): Check | undefined {
  if (entry === undefined) return undefined;
  return (value) => (isObject(value) ? firstOf(Object.keys(value), (name) => entry(value[name])) : undefined);
}

function firstOf<K extends string | number>(
  keys: Iterable<K>,
  look: (key: K) => LongList | undefined,
): LongList | undefined {
  for (const key of keys) {
    const found = look(key);
    if (found !== undefined) return { path: [key, ...found.path], most: found.most };
  }
  return undefined;
}

/**
 * Of a union, the kinds that the value can be: refused is what each of them refuses. A value that can be none of them is
 * refused when one does, because the validation tries them all.
 */
function ofUnion(options: readonly z.core.$ZodType[], discriminator: string | undefined): Check | undefined {
  const kinds = options.flatMap((one) => {
    const shape = one as z.core.$ZodTypes;
    return takesLists(shape) ? [{ shape, check: checkFor(shape) }] : [];
  });
  if (kinds.every(({ check }) => check === undefined)) return undefined;
  return (value) => {
    const possible = kinds.filter(({ shape }) => canBe(shape, value, discriminator));
    const found = (possible.length === 0 ? kinds : possible).map(({ check }) => check?.(value));
    const isPassed = possible.length > 0 && found.includes(undefined);
    return isPassed ? undefined : found.find((one) => one !== undefined);
  };
}

/** Whether values of this shape can hold a list at all. A text or a number cannot. */
function takesLists(shape: z.core.$ZodTypes): boolean {
  return !['string', 'number', 'boolean', 'literal', 'enum', 'null', 'undefined', 'bigint'].includes(
    shape._zod.def.type,
  );
}

function canBe(shape: z.core.$ZodTypes, value: unknown, discriminator: string | undefined): boolean {
  const { def, propValues } = shape._zod;
  if (def.type === 'array') return Array.isArray(value);
  if (def.type !== 'object') return true;
  if (!isObject(value)) return false;
  if (discriminator !== undefined) return propValues?.[discriminator]?.has(value[discriminator] as never) === true;
  const isStrict = def.catchall?._zod.def.type === 'never';
  return !isStrict || Object.keys(value).every((name) => Object.hasOwn(def.shape, name));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import type { ToldSchema } from '../../core/placement/worker.ts';

type Schema = Record<string, unknown>;

/** What is known of the input of a handler: one schema, or the different ones that workers tell. */
export interface InputKnowledge {
  readonly schema?: Schema;
  readonly disagreement?: readonly { readonly workers: readonly string[]; readonly schema: Schema }[];
}

/** Deeper than any form is shown. */
const MOST_DEPTH = 64;
/** So many different schemas of one handler are shown. */
const MOST_VARIANTS = 10;
/** Keywords whose values are schemas by name: a property may be called `default`. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
/** Keywords whose values are data. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const']);
/** What a worker would put into the forms of others. */
const PREFILLED: ReadonlySet<string> = new Set(['default', 'examples', 'example']);

/**
 * What the workers of these names, which offer the handler now, tell of its input. If they do not agree there is no schema: nobody can say
 * which of them is right, and one that lies must not win by coming last.
 */
export function knowledgeOf(told: readonly ToldSchema[], offering: ReadonlySet<string>): InputKnowledge {
  const variants = new Map<string, string[]>();
  for (const { worker, schema } of told) {
    if (!offering.has(worker)) continue;
    const text = JSON.stringify(withoutPrefill(JSON.parse(schema) as Schema));
    variants.set(text, [...(variants.get(text) ?? []), worker]);
  }
  const found = [...variants].map(([text, workers]) => ({
    workers: workers.sort(),
    schema: JSON.parse(text) as Schema,
  }));
  if (found.length > 1) return { disagreement: found.slice(0, MOST_VARIANTS) };
  return found[0] === undefined ? {} : { schema: found[0].schema };
}

/** A schema without values that a form would begin with, and without references by which it could reach some. */
export function withoutPrefill(schema: Schema, depth = 0): Schema {
  if (depth > MOST_DEPTH) return {};
  const kept: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (PREFILLED.has(key) || (key === '$ref' && !isPlainRef(value))) continue;
    if (DATA.has(key)) kept[key] = value;
    else if (NAMED.has(key) && isObject(value))
      kept[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cleaned(one, depth + 1)]));
    else kept[key] = cleaned(value, depth + 1);
  }
  return kept;
}

function cleaned(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return depth > MOST_DEPTH ? [] : value.map((one) => cleaned(one, depth + 1));
  return isObject(value) ? withoutPrefill(value, depth) : value;
}

/** To the whole schema, or to one of its definitions: other pointers could end in data. */
function isPlainRef(ref: unknown): boolean {
  return typeof ref === 'string' && /^#(\/(\$defs|definitions)\/[^/]+)?$/.test(ref);
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

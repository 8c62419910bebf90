/** The input of a document, completed with results of its dependencies. */

/** A part of JSON Schema: which properties there are. */
export interface PropertySchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown } | undefined>> | undefined;
}

export interface GatheredResult {
  /** The id of the document that it came from. */
  readonly id: string;
  readonly result: unknown;
  readonly schema?: PropertySchema | undefined;
}

type Inputs = Readonly<Record<string, unknown>>;

/**
 * Inputs with the results of dependencies. Where the output schema of a dependency and the input schema here share properties of the same
 * type, these are copied by name. Otherwise the whole result is added under the id of its document. A result overrides a written input.
 */
export function gatherInputs(
  inputs: Inputs | null,
  schema: PropertySchema | undefined,
  results: readonly GatheredResult[],
): Inputs | null {
  if (results.length === 0) return inputs;
  // A Map, because a name may be that of a property which every object has.
  const gathered = new Map(Object.entries(inputs ?? {}));
  for (const { id, result, schema: out } of results) {
    const shared = isRecord(result) ? sharedNames(schema, out).filter((name) => Object.hasOwn(result, name)) : [];
    for (const name of shared) gathered.set(name, (result as Inputs)[name]);
    if (shared.length === 0) gathered.set(id, result);
  }
  return Object.fromEntries(gathered);
}

function sharedNames(into: PropertySchema | undefined, out: PropertySchema | undefined): readonly string[] {
  const wanted = into?.properties;
  const offered = out?.properties;
  if (!isRecord(wanted) || !isRecord(offered)) return [];
  return Object.keys(wanted).filter((name) => {
    if (!Object.hasOwn(offered, name)) return false;
    const [a, b] = [typeOf(wanted[name]), typeOf(offered[name])];
    return a === undefined || b === undefined || a === b;
  });
}

/** Undefined: no type is declared, so it may be any. */
function typeOf(property: unknown): string | undefined {
  if (!isRecord(property) || property['type'] === undefined) return undefined;
  return JSON.stringify(property['type']);
}

function isRecord(value: unknown): value is Inputs {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

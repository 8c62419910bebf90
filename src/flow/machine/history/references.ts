/** Values that are kept once: what stands in the output of a step or in the result of a child is only pointed to. */
import { isList, isMap, mapOf, type Value } from '../../expression/values.ts';
import { textLength } from './text-length.ts';

/** `in`: the name of a source. `at`: the way from there to the value. */
export interface Reference {
  readonly in: string;
  readonly at: readonly (string | number)[];
}

/** A value that is a reference, or a list or a map with references in it. */
export type Built =
  | Reference
  | { readonly list: readonly Built[] }
  | { readonly map: Readonly<Record<string, Built>> }
  | { readonly value: Value };

export type Sources = ReadonlyMap<string, Value>;

/** A shorter value is written out: a reference would be as long. */
const LEAST_LENGTH = 256;
/** So deep and so many parts of a source are known. */
const MOST_LEVELS = 3;
const MOST_PARTS = 1000;
/** A list of results, and a map with such lists, are told by their parts. */
const MOST_BUILT = 2;

/** Finds values in the sources. Lists and maps by identity: a machine passes them on and does not copy them. Texts by what they say. */
export class References {
  readonly #sources: Sources;
  #known: ReadonlyMap<Value, Reference> | undefined;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** Undefined: neither it nor a part of it is anywhere else, or worth a reference. */
  of(value: Value, levels = MOST_BUILT): Built | undefined {
    const reference = this.#direct(value);
    if (reference !== undefined || levels === 0) return reference;
    if (isList(value) && value.length <= MOST_PARTS) {
      const parts = value.map((one) => this.of(one, levels - 1));
      if (parts.some((one) => one !== undefined))
        return { list: parts.map((one, i) => one ?? { value: value[i] ?? null }) };
    } else if (isMap(value)) {
      const entries = Object.entries(value).filter(([, one]) => one !== undefined);
      if (entries.length > MOST_PARTS) return undefined;
      const parts = entries.map(([key, one]) => [key, this.of(one, levels - 1), one] as const);
      if (parts.some(([, part]) => part !== undefined))
        return { map: Object.fromEntries(parts.map(([key, part, one]) => [key, part ?? { value: one }])) };
    }
    return undefined;
  }

  #direct(value: Value): Reference | undefined {
    if (!isLarge(value)) return undefined;
    this.#known ??= knownIn(this.#sources);
    const reference = this.#known.get(value);
    if (reference === undefined || typeof value === 'string') return reference;
    return textLength(value) < LEAST_LENGTH ? undefined : reference;
  }
}

export function builtValue(built: Built, sources: Sources): Value {
  if ('in' in built) return sourceValue(built, sources);
  if ('list' in built) return built.list.map((one) => builtValue(one, sources));
  if ('map' in built) {
    return mapOf(Object.entries(built.map).map(([key, one]) => [key, builtValue(one, sources)]));
  }
  return built.value;
}

/** Every source that a value points to. */
export function sourcesOf(built: Built): readonly string[] {
  if ('in' in built) return [built.in];
  if ('list' in built) return built.list.flatMap(sourcesOf);
  return 'map' in built ? Object.values(built.map).flatMap(sourcesOf) : [];
}

/** Undefined if it is not there. */
function sourceValue({ in: name, at }: Reference, sources: Sources): Value {
  let value: Value = sources.get(name);
  for (const key of at) {
    if (isList(value) && typeof key === 'number') value = value[key];
    else if (isMap(value) && typeof key === 'string' && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}

function knownIn(sources: Sources): ReadonlyMap<Value, Reference> {
  const known = new Map<Value, Reference>();
  for (const [name, value] of sources) {
    // The context and the input are told apart by their entries alone: what is deeper in them has changed rarely.
    const levels = name === 'context' || name === 'input' ? 1 : MOST_LEVELS;
    addParts(known, name, value, levels);
  }
  return known;
}

function addParts(known: Map<Value, Reference>, name: string, source: Value, levels: number): void {
  let level: (readonly [Value, readonly (string | number)[]])[] = [[source, []]];
  let parts = 0;
  for (let depth = 0; level.length > 0; depth++) {
    for (const [value, at] of level) if (!known.has(value)) known.set(value, { in: name, at });
    if (depth === levels) return;
    const below: typeof level = [];
    for (const [value, at] of level) {
      if (!isList(value) && !isMap(value)) continue;
      for (const [key, part] of isList(value) ? value.entries() : Object.entries(value)) {
        if (++parts > MOST_PARTS) break;
        if (isLarge(part)) below.push([part, [...at, key]]);
      }
    }
    level = below;
  }
}

const isLarge = (value: Value): boolean =>
  typeof value === 'string' ? value.length >= LEAST_LENGTH : isList(value) || isMap(value);

/** Checks a value against a JSON schema: the words that are used to check answers. Words that are not known here are not checked. */
import { isList, isMap, type Value, type ValueMap } from '../expression/values.ts';
import { PatternError } from '../regex/parse.ts';
import { Regex } from '../regex/regex.ts';

/** Parts of schema and value that are looked at together. A schema may branch, but not for ever. */
const MOST_STEPS = 100_000;
const MOST_WORK = 1_000_000;
/** Of a text that is only gone through. */
const CHARACTERS_A_STEP = 16;

/** Whether the value fits. A schema that is no schema, or takes too long to check, fits nothing. */
export function fitsSchema(schema: Value, value: Value): boolean {
  try {
    return new Check().fits(schema, value);
  } catch (error) {
    if (error instanceof RangeError || error instanceof PatternError) return false;
    throw error;
  }
}

class Check {
  #steps = MOST_STEPS;
  #work = MOST_WORK;

  fits(schema: Value, value: Value): boolean {
    if (--this.#steps < 0) throw new RangeError('too many steps');
    if (schema === true) return true;
    if (!isMap(schema)) return false;
    return (
      hasType(schema['type'], value) &&
      this.#isChoice(schema, value) &&
      this.#number(schema, value) &&
      this.#text(schema, value) &&
      this.#list(schema, value) &&
      this.#map(schema, value) &&
      this.#combined(schema, value)
    );
  }

  #isChoice({ enum: choices, const: only }: ValueMap, value: Value): boolean {
    if (only === undefined && !isList(choices)) return true;
    const text = this.#written(value);
    if (only !== undefined && canonicalJson(only) !== text) return false;
    return !isList(choices) || choices.some((one) => canonicalJson(one) === text);
  }

  #number(schema: ValueMap, value: Value): boolean {
    if (typeof value !== 'number') return true;
    const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: step } = schema;
    return (
      !(typeof minimum === 'number' && value < minimum) &&
      !(typeof maximum === 'number' && value > maximum) &&
      !(typeof above === 'number' && value <= above) &&
      !(typeof below === 'number' && value >= below) &&
      !(typeof step === 'number' && step > 0 && !Number.isInteger(value / step))
    );
  }

  #text({ minLength, maxLength, pattern }: ValueMap, value: Value): boolean {
    if (typeof value !== 'string') return true;
    const length = typeof minLength === 'number' || typeof maxLength === 'number' ? this.#lengthOf(value) : 0;
    if (typeof minLength === 'number' && length < minLength) return false;
    if (typeof maxLength === 'number' && length > maxLength) return false;
    return typeof pattern !== 'string' || new Regex(pattern).test(value, (count) => this.#spend(count));
  }

  /** A schema may look at the same text again and again. */
  #lengthOf(text: string): number {
    this.#spend(text.length / CHARACTERS_A_STEP);
    return Array.from(text).length;
  }

  #written(value: Value): string {
    const text = canonicalJson(value);
    this.#spend(text.length / CHARACTERS_A_STEP);
    return text;
  }

  #spend(count: number): void {
    this.#work -= count;
    if (this.#work < 0) throw new RangeError('too much work');
  }

  #list({ minItems, maxItems, items, prefixItems, uniqueItems }: ValueMap, value: Value): boolean {
    if (!isList(value)) return true;
    if (typeof minItems === 'number' && value.length < minItems) return false;
    if (typeof maxItems === 'number' && value.length > maxItems) return false;
    if (uniqueItems === true && new Set(value.map((one) => this.#written(one))).size < value.length) return false;
    // Before 2020 the places of a tuple stood in `items`.
    const places = isList(prefixItems) ? prefixItems : isList(items) ? items : [];
    const rest = isList(items) ? undefined : items;
    return value.every((item, i) => {
      const schema = places[i] ?? rest;
      return schema === undefined || this.fits(schema, item);
    });
  }

  #map(schema: ValueMap, value: Value): boolean {
    if (!isMap(value)) return true;
    const { required, properties, additionalProperties: others, minProperties, maxProperties } = schema;
    const names = Object.keys(value);
    if (isList(required) && !required.every((name) => typeof name === 'string' && Object.hasOwn(value, name))) {
      return false;
    }
    if (typeof minProperties === 'number' && names.length < minProperties) return false;
    if (typeof maxProperties === 'number' && names.length > maxProperties) return false;
    return names.every((name) => {
      const own = isMap(properties) && Object.hasOwn(properties, name) ? properties[name] : others;
      return own === undefined || this.fits(own, value[name]);
    });
  }

  #combined({ allOf, anyOf, oneOf, not }: ValueMap, value: Value): boolean {
    if (isList(allOf) && !allOf.every((one) => this.fits(one, value))) return false;
    if (isList(anyOf) && !anyOf.some((one) => this.fits(one, value))) return false;
    if (isList(oneOf) && oneOf.filter((one) => this.fits(one, value)).length !== 1) return false;
    return not === undefined || !this.fits(not, value);
  }
}

function hasType(type: Value, value: Value): boolean {
  if (type === undefined) return true;
  if (isList(type)) return type.some((one) => hasType(one, value));
  switch (type as string) {
    case 'object':
      return isMap(value);
    case 'array':
      return isList(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

/** The same text for the same value, whatever the order of keys. */
export function canonicalJson(value: Value): string {
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonicalJson(one)}`).join(',')}}`;
}

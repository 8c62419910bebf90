import type { SchemaIssue, StandardSchema } from '../define/schema.ts';

/** JSON Schema, as far as a form needs it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

type Path = readonly (string | number)[];
type Report = (path: Path, message: string) => void;

/** Reads one value. What `read` returns after it reported a problem is never used. */
export interface Field<T, Optional extends boolean = boolean> {
  readonly optional: Optional;
  readonly jsonSchema: JsonSchema;
  read(value: unknown, path: Path, report: Report): T;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
type Present<F extends Fields> = { [K in keyof F]: F[K] extends Field<unknown, true> ? never : K }[keyof F];
type Value<F> = F extends Field<infer T> ? T : never;

export type Shape<F extends Fields> = { readonly [K in Present<F>]: Value<F[K]> } & {
  readonly [K in Exclude<keyof F, Present<F>>]?: Value<F[K]>;
};

/** A Standard Schema that also has a JSON Schema, for a form. */
export interface FormSchema<T> extends StandardSchema<T> {
  readonly jsonSchema: JsonSchema;
}

export interface ObjectOptions<T> {
  /** Unknown fields are kept as they are; by default they are refused. */
  readonly open?: boolean;
  /** Rules between fields. Called only when every field is right by itself. */
  readonly check?: (value: T, report: Report) => void;
}

/** Unknown fields are refused, so that a misspelt option is found at the push. */
export function object<const F extends Fields>(fields: F, options: ObjectOptions<Shape<F>> = {}): FormSchema<Shape<F>> {
  const validate = (value: unknown) => {
    const issues: SchemaIssue[] = [];
    const report: Report = (path, message) => void issues.push({ message, path });
    const read = readObject(value, fields, options.open === true, report) as Shape<F>;
    if (issues.length === 0) options.check?.(read, report);
    return issues.length === 0 ? { value: read } : { issues };
  };
  const jsonSchema = describe(fields, options.open === true);
  return {
    '~standard': { version: 1, vendor: 'leasehold', validate, jsonSchema: { input: () => jsonSchema } },
    jsonSchema,
  };
}

function readObject(value: unknown, fields: Fields, open: boolean, report: Report): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  if (!isRecord(value)) {
    report([], `must be an object, not ${kindOf(value)}`);
    return read;
  }
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(fields, key)) continue;
    if (open) define(read, key, value[key]);
    else report([key], `there is no such field; the fields are ${Object.keys(fields).join(', ')}`);
  }
  for (const [key, field] of Object.entries(fields)) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given !== undefined) define(read, key, field.read(given, [key], report));
    else if (!field.optional) report([key], 'is missing');
  }
  return read;
}

function describe(fields: Fields, open: boolean): JsonSchema {
  const entries = Object.entries(fields);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, field]) => [key, field.jsonSchema])),
    required: entries.filter(([, field]) => !field.optional).map(([key]) => key),
    additionalProperties: open,
  };
}

export function optional<T>(field: Field<T>): Field<T, true> {
  return { ...field, optional: true };
}

export interface TextOptions {
  readonly about?: string;
  readonly minLength?: number;
  /** The problem with a text, for rules that JSON Schema cannot express. */
  readonly check?: (text: string) => string | undefined;
}

export function text(options: TextOptions = {}): Field<string, false> {
  const { about, minLength = 0, check } = options;
  return {
    optional: false,
    jsonSchema: { type: 'string', ...(minLength > 0 ? { minLength } : {}), ...described(about) },
    read(value, path, report) {
      if (typeof value !== 'string') report(path, `must be a text, not ${kindOf(value)}`);
      else if (value.length < minLength) report(path, 'must not be empty');
      else {
        const problem = check?.(value);
        if (problem !== undefined) report(path, problem);
      }
      return value as string;
    },
  };
}

export function whole(options: {
  readonly min: number;
  readonly max: number;
  readonly about?: string;
}): Field<number, false> {
  const { min, max, about } = options;
  return {
    optional: false,
    jsonSchema: { type: 'integer', minimum: min, maximum: max, ...described(about) },
    read(value, path, report) {
      if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
        report(path, `must be a whole number from ${min} to ${max}`);
      }
      return value as number;
    },
  };
}

export function oneOf<const T extends string>(values: readonly T[], about?: string): Field<T, false> {
  return {
    optional: false,
    jsonSchema: { enum: values, ...described(about) },
    read(value, path, report) {
      if (!values.includes(value as T)) report(path, `must be one of ${values.join(', ')}`);
      return value as T;
    },
  };
}

export function list<T>(
  item: Field<T>,
  options: { readonly min?: number; readonly about?: string } = {},
): Field<readonly T[], false> {
  const { min = 0, about } = options;
  return {
    optional: false,
    jsonSchema: { type: 'array', items: item.jsonSchema, minItems: min, ...described(about) },
    read(value, path, report) {
      if (!Array.isArray(value)) {
        report(path, `must be a list, not ${kindOf(value)}`);
        return [];
      }
      if (value.length < min) report(path, `must have at least ${min} ${min === 1 ? 'entry' : 'entries'}`);
      return value.map((entry, index) => item.read(entry, [...path, index], report));
    },
  };
}

/** Names that the author chooses, each with a text. */
export function texts(options: {
  readonly about?: string;
  readonly check: (name: string, value: string) => string | undefined;
}): Field<Readonly<Record<string, string>>, false> {
  return {
    optional: false,
    jsonSchema: { type: 'object', additionalProperties: { type: 'string' }, ...described(options.about) },
    read(value, path, report) {
      const read: Record<string, string> = {};
      if (!isRecord(value)) {
        report(path, `must be an object, not ${kindOf(value)}`);
        return read;
      }
      for (const [name, entry] of Object.entries(value)) {
        const problem = typeof entry === 'string' ? options.check(name, entry) : `must be a text, not ${kindOf(entry)}`;
        if (problem !== undefined) report([...path, name], problem);
        define(read, name, entry);
      }
      return read;
    },
  };
}

/** Names with any JSON values. */
export function map(about?: string): Field<Readonly<Record<string, unknown>>, false> {
  return {
    optional: false,
    jsonSchema: { type: 'object', additionalProperties: true, ...described(about) },
    read(value, path, report) {
      if (!isRecord(value)) report(path, `must be an object, not ${kindOf(value)}`);
      return value as Readonly<Record<string, unknown>>;
    },
  };
}

/** Any JSON value. */
export function anything(about?: string): Field<unknown, false> {
  return { optional: false, jsonSchema: { ...described(about) }, read: (value) => value };
}

/** The first that takes the value. */
export function either<A, B>(a: Field<A>, b: Field<B>, expected: string, about?: string): Field<A | B, false> {
  return {
    optional: false,
    jsonSchema: { anyOf: [a.jsonSchema, b.jsonSchema], ...described(about) },
    read(value, path, report) {
      for (const field of [a, b]) {
        let refused = false;
        const read = field.read(value, path, () => {
          refused = true;
        });
        if (!refused) return read;
      }
      report(path, `must be ${expected}`);
      return value as A | B;
    },
  };
}

export function flag(about?: string): Field<boolean, false> {
  return {
    optional: false,
    jsonSchema: { type: 'boolean', ...described(about) },
    read(value, path, report) {
      if (typeof value !== 'boolean') report(path, `must be true or false, not ${kindOf(value)}`);
      return value as boolean;
    },
  };
}

function described(about: string | undefined): JsonSchema {
  return about === undefined ? {} : { description: about };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** As an own property, whatever its name: an assignment to `__proto__` would be something else. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * A form from a JSON Schema. What a form cannot draw well (a choice between objects, deep nesting) becomes a field of JSON, so
 * that every schema gives a form for every value. The form does not validate: the handler does.
 */

export type Field =
  | (Common & {
      readonly kind: 'text';
      readonly long: boolean;
      readonly secret: boolean;
      readonly pattern?: string;
      readonly minLength?: number;
    })
  | (Common & { readonly kind: 'number'; readonly whole: boolean; readonly min?: number; readonly max?: number })
  | (Common & { readonly kind: 'flag' })
  | (Common & { readonly kind: 'choice'; readonly options: readonly unknown[] })
  | (Common & { readonly kind: 'texts' })
  | (Common & { readonly kind: 'group'; readonly fields: readonly Field[] })
  | (Common & { readonly kind: 'json' });

interface Common {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly required: boolean;
  readonly initial: unknown;
}

type Schema = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 3;

/** The fields of an object; undefined if the input is not an object and can only be written as JSON. */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  const root = isObject(schema) ? schema : {};
  const resolved = resolve(root, root);
  if (!isObject(resolved.properties) || (resolved.type !== undefined && resolved.type !== 'object')) return undefined;
  return groupFields(resolved, root, 0);
}

function groupFields(schema: Schema, root: Schema, depth: number): readonly Field[] {
  const required = Array.isArray(schema.required) ? (schema.required as readonly unknown[]) : [];
  return Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([name, one]) =>
    fieldOf(name, resolve(isObject(one) ? one : {}, root), root, required.includes(name), depth),
  );
}

function fieldOf(name: string, schema: Schema, root: Schema, required: boolean, depth: number): Field {
  const common = {
    name,
    title: typeof schema.title === 'string' ? schema.title : name,
    about: typeof schema.description === 'string' ? schema.description : '',
    required,
    initial: schema.default,
  };
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return { ...common, kind: 'choice', options: schema.enum };
  if (schema.const !== undefined) return { ...common, kind: 'choice', options: [schema.const] };
  switch (typeOf(schema) ?? '') {
    case 'string':
      return {
        ...common,
        kind: 'text',
        long: typeof schema.maxLength !== 'number' || schema.maxLength > 200 ? isLong(name, schema) : false,
        secret: schema.format === 'password' || schema.writeOnly === true,
        ...(typeof schema.pattern === 'string' ? { pattern: schema.pattern } : {}),
        ...(typeof schema.minLength === 'number' ? { minLength: schema.minLength } : {}),
      };
    case 'integer':
    case 'number':
      return {
        ...common,
        kind: 'number',
        whole: typeOf(schema) === 'integer',
        ...(typeof schema.minimum === 'number' ? { min: schema.minimum } : {}),
        ...(typeof schema.maximum === 'number' ? { max: schema.maximum } : {}),
      };
    case 'boolean':
      return { ...common, kind: 'flag' };
    case 'array': {
      const items = isObject(schema.items) ? resolve(schema.items, root) : {};
      return { ...common, kind: typeOf(items) === 'string' && items.enum === undefined ? 'texts' : 'json' };
    }
    case 'object':
      if (isObject(schema.properties) && depth < MAX_DEPTH)
        return { ...common, kind: 'group', fields: groupFields(schema, root, depth + 1) };
      return { ...common, kind: 'json' };
    default:
      return { ...common, kind: 'json' };
  }
}

/** Whether people write this text in several lines. */
function isLong(name: string, schema: Schema): boolean {
  return (
    /^(command|prompt|text|body|message|content|code|script|query|stdin)$/i.test(name) ||
    (typeof schema.maxLength === 'number' && schema.maxLength > 200)
  );
}

/** The type of a schema. A type that may also be null counts as that type. */
function typeOf(schema: Schema): string | undefined {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== 'null');
  return types.length === 1 && typeof types[0] === 'string' ? types[0] : undefined;
}

/** Follows references inside the schema. A circular or external reference is left as it is. */
function resolve(schema: Schema, root: Schema): Schema {
  let now = schema;
  for (let i = 0; i < 8 && typeof now.$ref === 'string' && now.$ref.startsWith('#'); i++) {
    let at: unknown = root;
    for (const part of now.$ref.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }
    if (!isObject(at)) return {};
    now = at;
  }
  return now;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The contents of the fields: texts, switches, groups of these. */
export type Draft = Readonly<Record<string, unknown>>;

/** The draft of a value. Properties without a field go to `rest`, so that nothing is lost. */
export function draftOf(fields: readonly Field[], value: unknown): { readonly draft: Draft; readonly rest: Draft } {
  const given = isObject(value) ? value : {};
  const known = new Set(fields.map(({ name }) => name));
  const draft: Record<string, unknown> = {};
  for (const field of fields) {
    const has = Object.hasOwn(given, field.name);
    draft[field.name] = fieldTextOf(field, has ? given[field.name] : value === undefined ? field.initial : undefined);
  }
  return { draft, rest: Object.fromEntries(Object.entries(given).filter(([name]) => !known.has(name))) };
}

function fieldTextOf(field: Field, value: unknown): unknown {
  switch (field.kind) {
    case 'flag':
      return value === undefined ? '' : String(value as boolean);
    case 'choice':
      return value === undefined ? '' : JSON.stringify(value);
    case 'texts':
      return Array.isArray(value) ? value.map(String).join('\n') : '';
    case 'group':
      return draftOf(field.fields, value).draft;
    case 'json':
      return value === undefined ? '' : JSON.stringify(value, undefined, 2);
    case 'text':
    case 'number':
      return value === undefined || value === null ? '' : String(value as string);
  }
}

export interface FormValue {
  readonly value: Readonly<Record<string, unknown>>;
  /** By path: `retry.count`. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The value of a draft. Empty fields are left out. */
export function valueOf(fields: readonly Field[], draft: Draft, rest: Draft = {}, path = ''): FormValue {
  const value: Record<string, unknown> = { ...rest };
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const at = `${path}${field.name}`;
    const read = readField(field, draft[field.name], at);
    if ('problems' in read) Object.assign(problems, read.problems);
    if (read.value !== undefined) value[field.name] = read.value;
    else if (field.required && problems[at] === undefined) problems[at] = 'is required';
  }
  return { value, problems };
}

type FieldValue = { readonly value: unknown; readonly problems?: Readonly<Record<string, string>> };

function readField(field: Field, entered: unknown, at: string): FieldValue {
  const wrong = (problem: string): FieldValue => ({ value: undefined, problems: { [at]: problem } });
  if (field.kind === 'group') {
    const inner = valueOf(field.fields, isObject(entered) ? entered : {}, {}, `${at}.`);
    const empty = Object.keys(inner.value).length === 0;
    // An untouched group is left out, and then none of its fields is required.
    return empty && !field.required ? { value: undefined } : { value: inner.value, problems: inner.problems };
  }
  const text = typeof entered === 'string' ? entered : '';
  if (text === '' && !(field.kind === 'text' && field.required && field.minLength === 0)) return { value: undefined };
  switch (field.kind) {
    case 'text':
      return { value: text };
    case 'flag':
      return { value: text === 'true' };
    case 'texts':
      return { value: text.split('\n').filter((line) => line.trim() !== '') };
    case 'number': {
      const number = Number(text);
      if (!Number.isFinite(number)) return wrong('is not a number');
      if (field.whole && !Number.isSafeInteger(number)) return wrong('must be a whole number');
      if (field.min !== undefined && number < field.min) return wrong(`must be at least ${field.min}`);
      if (field.max !== undefined && number > field.max) return wrong(`must be at most ${field.max}`);
      return { value: number };
    }
    case 'choice':
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return wrong('is not JSON');
      }
  }
}

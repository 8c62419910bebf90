/** The `output` of an agent: which fields its answer has. They become a JSON schema, and the answer is held to them. */
import { isList, isMap, kindOf, mapOf, numberIn, type Value, type ValueMap } from '../expression/values.ts';
import { type Path, type Problems, pathText } from '../machine/problems.ts';

const KINDS = ['str', 'int', 'float', 'bool', 'json', 'list', 'object'] as const;
type Kind = (typeof KINDS)[number];

/** The same in the words of JSON schema, which some agents use. */
const ALIASES: ReadonlyMap<Value, Kind> = new Map<string, Kind>(
  Object.entries({
    string: 'str',
    text: 'str',
    integer: 'int',
    number: 'float',
    boolean: 'bool',
    any: 'json',
    array: 'list',
    dict: 'object',
    map: 'object',
  }),
);

export interface OutputField {
  readonly kind: Kind;
  readonly description: string | undefined;
  readonly choices: readonly Value[] | undefined;
  readonly required: boolean;
  readonly items: OutputField | undefined;
  readonly properties: OutputFields | undefined;
}

export type OutputFields = ReadonlyMap<string, OutputField>;

const ANYTHING: OutputField = {
  kind: 'json',
  description: undefined,
  choices: undefined,
  required: true,
  items: undefined,
  properties: undefined,
};

/** Fields within fields, at most so deep. A file is not nested deeper than 64. */
export function readOutputFields(value: Value, path: Path, problems: Problems): OutputFields {
  if (value === undefined || value === null) return new Map();
  if (!isMap(value)) {
    problems.error(path, `expected a map of fields, found ${kindOf(value)}`);
    return new Map();
  }
  return new Map(Object.entries(value).map(([name, one]) => [name, readField(one, [...path, name], problems)]));
}

function readField(value: Value, path: Path, problems: Problems): OutputField {
  // `answer: str` is short for `answer: {type: str}`.
  const field = typeof value === 'string' ? { type: value } : value;
  if (!isMap(field)) {
    problems.warning(path, `expected {type, …}, found ${kindOf(value)}`);
    return ANYTHING;
  }
  const { type, description, enum: choices, required, items, properties } = field;
  const kind = KINDS.find((one) => one === type) ?? ALIASES.get(type);
  if (kind === undefined && type !== undefined) {
    problems.warning([...path, 'type'], `expected ${KINDS.join(', ')}`);
  }
  return {
    kind: kind ?? 'json',
    description: typeof description === 'string' ? description : undefined,
    choices: isList(choices) && choices.length > 0 ? choices : undefined,
    required: required !== false,
    items: items === undefined ? undefined : readField(items, [...path, 'items'], problems),
    properties: properties === undefined ? undefined : readOutputFields(properties, [...path, 'properties'], problems),
  };
}

const SCHEMA_TYPES: Readonly<Record<Kind, string | undefined>> = {
  str: 'string',
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  json: undefined,
  list: 'array',
  object: 'object',
};

/** The JSON schema of an answer. */
export function outputSchema(fields: OutputFields): ValueMap {
  const required = [...fields].filter(([, field]) => field.required).map(([name]) => name);
  return {
    type: 'object',
    properties: mapOf([...fields].map(([name, field]) => [name, schemaOf(field)])),
    ...(required.length === 0 ? {} : { required }),
  };
}

function schemaOf({ kind, description, choices, items, properties }: OutputField): ValueMap {
  const type = SCHEMA_TYPES[kind];
  return {
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(items === undefined ? {} : { items: schemaOf(items) }),
    ...(properties === undefined ? {} : outputSchema(properties)),
  };
}

export interface CoercedOutput {
  readonly output: ValueMap;
  /** What is wrong with the answer; empty: nothing. */
  readonly wrong: readonly string[];
}

/** The answer with its values in the types that were asked for. Fields that were not asked for stay. */
export function coerceOutput(fields: OutputFields, value: Value): CoercedOutput {
  const wrong: string[] = [];
  const output = coerceMap(fields, value, [], wrong);
  return { output: isMap(output) ? output : {}, wrong };
}

function coerceMap(fields: OutputFields, value: Value, path: Path, wrong: string[]): Value {
  if (!isMap(value)) {
    wrong.push(`${saying(path)}expected a map, found ${kindOf(value)}`);
    return value;
  }
  const entries = new Map(Object.entries(value));
  for (const [name, field] of fields) {
    const given = entries.get(name);
    const at = [...path, name];
    if (given === undefined || given === null) {
      if (field.required) wrong.push(`${saying(at)}it is missing`);
    } else entries.set(name, coerce(field, given, at, wrong));
  }
  return mapOf(entries);
}

function coerce(field: OutputField, value: Value, path: Path, wrong: string[]): Value {
  const coerced = coerceKind(field, value, path, wrong);
  const { choices } = field;
  if (choices !== undefined && !choices.some((one) => one === coerced || String(one) === coerced)) {
    wrong.push(`${saying(path)}expected one of ${choices.map((one) => JSON.stringify(one)).join(', ')}`);
  }
  return coerced;
}

function coerceKind(field: OutputField, value: Value, path: Path, wrong: string[]): Value {
  const refuse = (expected: string): Value => {
    wrong.push(`${saying(path)}expected ${expected}, found ${kindOf(value)}`);
    return value;
  };
  switch (field.kind) {
    case 'str':
      return typeof value === 'string' ? value : isScalar(value) ? String(value) : JSON.stringify(value);
    case 'int': {
      const number = numberOf(value);
      return number !== undefined && Number.isInteger(number) ? number : refuse('a whole number');
    }
    case 'float':
      return numberOf(value) ?? refuse('a number');
    case 'bool':
      return booleanOf(value) ?? refuse('true or false');
    case 'json':
      return value;
    case 'list': {
      const list = unquoted(value);
      if (!isList(list)) return refuse('a list');
      const { items } = field;
      return items === undefined ? list : list.map((item, i) => coerce(items, item, [...path, i], wrong));
    }
    case 'object': {
      const map = unquoted(value);
      if (!isMap(map)) return refuse('a map');
      return field.properties === undefined ? map : coerceMap(field.properties, map, path, wrong);
    }
  }
}

const isScalar = (value: Value): value is number | boolean => typeof value === 'number' || typeof value === 'boolean';

function numberOf(value: Value): number | undefined {
  return typeof value === 'number' ? value : typeof value === 'string' ? numberIn(value) : undefined;
}

function booleanOf(value: Value): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.trim().toLowerCase() : undefined;
  if (word === 'true' || word === 'yes') return true;
  return word === 'false' || word === 'no' ? false : undefined;
}

/** A list or a map that a model has written as a text. */
function unquoted(value: Value): Value {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as Value;
  } catch {
    return value;
  }
}

const saying = (path: Path): string => (path.length === 0 ? '' : `${pathText(path)}: `);

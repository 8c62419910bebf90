import { isList, isMap, kindOf, type Value, type ValueMap } from '../expression/values.ts';
import { meant, sayWrong } from '../machine/fields.ts';
import type { Path, Problems } from '../machine/problems.ts';
import type { GraphNode, Item, NodeKind, Work } from './definition.ts';
import { type ItemTemplate, itemTemplateOf } from './expression/item-template.ts';
import { tooMuch } from './measure.ts';
import type { NodeReading } from './node-reading.ts';
import { NODE_TYPES, type NodeType, nodeTypeOf } from './node-types.ts';
import { readRequest } from './read-request.ts';
import { readTimes } from './read-times.ts';

/** A node without what it is connected to. */
export type SoloNode = Omit<GraphNode, 'index' | 'incoming' | 'outgoing'>;

const FIELDS = new Set([
  'id',
  'typeId',
  'type',
  'name',
  'description',
  'position',
  'data',
  'kind',
  'pinned',
  'pinnedOutput',
  'agentConfig',
  'agent_config',
  'agents',
  'requiredTags',
  'concurrencyGroup',
  'required_credential',
  'requiredCredential',
  'timeout',
  'retry',
  'queue',
  'priority',
]);
/** Of `data`, but not for the handler. */
const OWN_DATA = new Set([
  'pinned',
  'pinnedOutput',
  'agentConfig',
  'agent_config',
  'required_credential',
  'requiredCredential',
]);
const MOST_NAME = 200;

/** Undefined: it has no id or no type, so nothing can be said of it. */
export function readNode(fields: ValueMap, path: Path, reading: NodeReading): SoloNode | undefined {
  const { problems } = reading;
  for (const field of Object.keys(fields)) {
    if (!FIELDS.has(field)) problems.warning([...path, field], `there is no field "${field}"${meant(field, FIELDS)}`);
  }
  const id = textIn(fields, ['id'], path, problems);
  const type = textIn(fields, ['typeId', 'type'], path, problems);
  if (id === undefined || type === undefined) return undefined;
  const known = nodeTypeOf(type);
  if (known.work === 'handler') warnOfTypo(type, path, problems);
  const data = dataOf(fields, path, problems);
  for (const field of known.needs) {
    if ((data[field] ?? '') === '') problems.error([...path, 'data', field], `a node of type ${type} needs "${field}"`);
  }
  return {
    id,
    type,
    name: fields['name'] === undefined ? id : (textIn(fields, ['name'], path, problems) ?? id),
    kind: kindIn(fields, known, path, problems),
    pinned: pinnedIn(fields, data, path, problems),
    work: workOf(type, known, { fields, data }, path, reading),
  };
}

function textIn(fields: ValueMap, names: readonly string[], path: Path, problems: Problems): string | undefined {
  const name = names.find((one) => fields[one] !== undefined) ?? (names[0] as string);
  const value = fields[name];
  if (typeof value === 'string' && value !== '' && value.length <= MOST_NAME) return value;
  const problem =
    value === undefined
      ? `"${name}" is missing`
      : typeof value !== 'string'
        ? `expected a text, found ${kindOf(value)}`
        : `it has 1 to ${MOST_NAME} characters`;
  problems.error([...path, name], problem);
  return undefined;
}

function warnOfTypo(type: string, path: Path, problems: Problems): void {
  const near = type.includes('/') ? '' : meant(type, NODE_TYPES.keys());
  if (near !== '') problems.warning([...path, 'typeId'], `"${type}" is taken for the name of a handler${near}`);
}

function dataOf(fields: ValueMap, path: Path, problems: Problems): ValueMap {
  const data = fields['data'] ?? {};
  if (isMap(data)) {
    const problem = tooMuch(data);
    if (problem === undefined) return data;
    problems.error([...path, 'data'], problem);
    return {};
  }
  problems.error([...path, 'data'], `expected a map, found ${kindOf(data)}`);
  return {};
}

function kindIn(fields: ValueMap, { perItem }: NodeType, path: Path, problems: Problems): NodeKind {
  const { kind } = fields;
  if (kind === 'map' || kind === 'array') return kind;
  if (kind !== undefined) problems.error([...path, 'kind'], 'expected "map" or "array"');
  return perItem ? 'map' : 'array';
}

/** On the node, or in its data as the program of the document keeps it. */
function pinnedIn(fields: ValueMap, data: ValueMap, path: Path, problems: Problems): readonly Item[] | undefined {
  const [within, place] = fields['pinned'] === undefined ? [data, [...path, 'data']] : [fields, path];
  if (within['pinned'] !== true) return undefined;
  const output = within['pinnedOutput'] ?? data['pinnedOutput'] ?? fields['pinnedOutput'];
  const items = isList(output) ? output : [output];
  const problem = tooMuch(items);
  if (problem !== undefined) problems.error([...place, 'pinnedOutput'], problem);
  else if (items.every(isMap)) return items;
  else problems.error([...place, 'pinnedOutput'], 'what is pinned is a list of items, each a map');
  return undefined;
}

interface Given {
  readonly fields: ValueMap;
  readonly data: ValueMap;
}

function workOf(type: string, known: NodeType, given: Given, path: Path, reading: NodeReading): Work {
  const { problems } = reading;
  const { data } = given;
  const at = [...path, 'data'];
  const template = (value: Value, place: Path): ItemTemplate =>
    itemTemplateOf(value, place, (where, source, error) => problems.error(where, sayWrong(source, error)));
  switch (known.work) {
    case 'start':
      return { do: 'start' };
    case 'scheduled':
      return { do: 'scheduled', times: readTimes(data, at, problems) };
    case 'hardwired':
      return { do: 'hardwired', items: hardwiredIn(data['json'], [...at, 'json'], problems) };
    case 'set':
      return { do: 'set', fields: fieldsIn(data['fields'], [...at, 'fields'], problems, template) };
    case 'transform':
      return { do: 'transform', expression: template(data['expression'], [...at, 'expression']) };
    case 'if':
      return { do: 'if', condition: template(data['condition'], [...at, 'condition']) };
    case 'handler':
    case 'http':
    case 'append_to_file':
    case 'run_command':
      if (known.work === 'run_command') checkCommand(data, at, problems);
      return {
        do: 'task',
        form: known.work,
        data: template(withoutOwn(data), at),
        request: readRequest(type, known, given, path, reading),
      };
  }
}

const withoutOwn = (data: ValueMap): ValueMap =>
  Object.fromEntries(Object.entries(data).filter(([field]) => !OWN_DATA.has(field)));

function hardwiredIn(value: Value, path: Path, problems: Problems): readonly Value[] {
  if (isList(value)) return value;
  if (typeof value !== 'string' || value === '') {
    if (value !== undefined && value !== '')
      problems.error(path, `expected a list, or its JSON, found ${kindOf(value)}`);
    return [];
  }
  try {
    const items = JSON.parse(value) as Value;
    const problem = tooMuch(items);
    if (problem !== undefined) problems.error(path, problem);
    else if (isList(items)) return items;
    else problems.error(path, `expected the JSON of a list, found ${kindOf(items)}`);
  } catch (error) {
    problems.error(path, `this is not JSON: ${(error as Error).message}`);
  }
  return [];
}

function fieldsIn(
  value: Value,
  path: Path,
  problems: Problems,
  template: (value: Value, place: Path) => ItemTemplate,
): readonly (readonly [string, ItemTemplate])[] {
  if (value === undefined || value === '') return [];
  if (!isList(value)) {
    problems.error(path, `expected a list of fields, found ${kindOf(value)}`);
    return [];
  }
  return value.flatMap((field, i) => {
    const place = [...path, i];
    if (!isMap(field)) {
      problems.error(place, `expected a field with "name" and "value", found ${kindOf(field)}`);
      return [];
    }
    const { name } = field;
    if (typeof name === 'string' && name !== '') return [[name, template(field['value'] ?? '', [...place, 'value'])]];
    problems.error([...place, 'name'], name === undefined ? '"name" is missing' : 'a name is a text');
    return [];
  });
}

/** What an item says would be read by a shell. */
function checkCommand(data: ValueMap, path: Path, problems: Problems): void {
  const { command, argv } = data;
  if ((command === undefined) === (argv === undefined)) {
    problems.error(
      [...path, 'command'],
      'a command is either "command", a line for a shell, or "argv", a program and its arguments',
    );
  }
  if (typeof command === 'string' && command.includes('{{')) {
    problems.warning(
      [...path, 'command'],
      'what an item says becomes part of a line for a shell: pass it in "argv" or "env"',
    );
  }
}

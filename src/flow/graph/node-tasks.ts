/** The tasks of a node: one for each item, or one for all of them, and what their results give. */
import { isList, isMap, type Value, type ValueMap } from '../expression/values.ts';
import type { Graph, GraphNode, Item, TaskForm, TaskWork } from './definition.ts';
import { type ItemTemplate, renderItem } from './expression/item-template.ts';
import { bounded, combined, type NodeOutput } from './items.ts';
import { NodeDataError } from './node-data-error.ts';

/** In the order of the items. Throws `NodeDataError` and `ExpressionError`. */
export function inputsOfTasks(graph: Graph, node: GraphNode, work: TaskWork, input: readonly Item[]): readonly Value[] {
  const of = (item: Item): Value => INPUTS[work.form](dataOf(work.data, item, input), graph);
  return node.kind === 'map' ? input.map(of) : [of(input[0] ?? {})];
}

function dataOf(template: ItemTemplate, item: Item, items: readonly Item[]): ValueMap {
  const data = bounded(renderItem(template, { item, items }));
  return isMap(data) ? data : {};
}

/** `results` in the order of the tasks. */
export function outputOfTasks(
  node: GraphNode,
  { form, data }: TaskWork,
  input: readonly Item[],
  results: readonly Value[],
): NodeOutput {
  const dataAt = (i: number): ValueMap => dataOf(data, input[i] ?? {}, input);
  const said = results.map((result, i) => OUTPUTS[form](result, () => dataAt(i)));
  if (node.kind === 'map') return combined(node, input, said);
  const [all] = said;
  return combined(node, input, isList(all) ? all : [all ?? null]);
}

const INPUTS: Readonly<Record<TaskForm, (data: ValueMap, graph: Graph) => Value>> = {
  handler: (data) => data,
  http: httpInput,
  append_to_file: appendInput,
  run_command: commandInput,
};

const OUTPUTS: Readonly<Record<TaskForm, (result: Value, data: () => ValueMap) => Value>> = {
  handler: (result) => result,
  http: (result) => (isMap(result) ? { ...result, body: bodyOf(result) } : result),
  append_to_file: (_, data) => ({ written: true, filepath: data()['filepath'] }),
  run_command: (result) => (isMap(result) ? { ...result, success: true } : result),
};

function bodyOf({ body, encoding }: ValueMap): Value {
  return encoding === 'text' && typeof body === 'string' ? jsonOr(body, body) : body;
}

function httpInput({ url, method, headers, timeout, body_mode: mode, json_body, body_fields, body }: ValueMap): Value {
  const sent =
    mode === 'json'
      ? jsonBody(json_body)
      : mode === 'fields'
        ? fieldsOf(body_fields, (value) => jsonOr(value, value))
        : body;
  const named = fieldsOf(headers, textOf);
  const seconds = Number(timeout);
  return {
    url,
    ...(typeof method === 'string' && method !== '' ? { method: method.toUpperCase() } : {}),
    ...(Object.keys(named).length === 0 ? {} : { headers: named }),
    ...(sent === undefined || sent === null || sent === '' ? {} : { body: sent }),
    ...(seconds > 0 ? { timeout_ms: Math.round(seconds * 1000) } : {}),
  };
}

/** Where only texts can be: an expression may have given a number. */
const textOf = (value: Value): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));

function jsonBody(given: Value): Value {
  if (typeof given !== 'string') return given;
  if (given === '') return undefined;
  const body = jsonOr(given, undefined);
  if (body === undefined) throw new NodeDataError('"json_body" is not JSON');
  return body;
}

/** A list of `{ name, value }`, or a map. */
function fieldsOf(given: Value, read: (value: Value) => Value): ValueMap {
  const pairs: readonly (readonly [Value, Value])[] = isList(given)
    ? given.flatMap((field) => (isMap(field) ? [[field['name'], field['value']] as const] : []))
    : isMap(given)
      ? Object.entries(given)
      : [];
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (typeof name === 'string' && name !== '' ? [[name, read(value ?? '')]] : [])),
  );
}

function jsonOr(text: Value, otherwise: Value): Value {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text) as Value;
  } catch {
    return otherwise;
  }
}

/** Data goes to the shell as an argument and as standard input, never as a part of its line. */
const APPEND = 'mkdir -p -- "$(dirname -- "$1")" && cat >> "$1"';

function appendInput({ filepath, content }: ValueMap, { dataDirectory }: Graph): Value {
  if (typeof filepath !== 'string' || filepath === '') throw new NodeDataError('"filepath" is not the path of a file');
  const path = dataDirectory === undefined || filepath.startsWith('/') ? filepath : `${dataDirectory}/${filepath}`;
  // A path that begins with a dash would be an option.
  return {
    argv: ['/bin/sh', '-c', APPEND, 'sh', /^[/.]/.test(path) ? path : `./${path}`],
    stdin: `${textOf(content ?? '')}\n`,
  };
}

function commandInput({ command, argv, workingDirectory, cwd, env, stdin }: ValueMap): Value {
  const folder = workingDirectory ?? cwd;
  const given = {
    command,
    argv: isList(argv) ? argv.map(textOf) : argv,
    cwd: folder === '' ? undefined : folder,
    env: env === undefined ? undefined : fieldsOf(env, textOf),
    stdin: stdin === undefined ? undefined : textOf(stdin),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
}

/** Reads a workflow from what its file says, and checks it: every problem is listed, with its place. */
import { MAX_DEFINITION_BYTES } from '../../core/graph/run.ts';
import { isList, isMap, kindOf, type Value, type ValueMap } from '../expression/values.ts';
import { meant } from '../machine/fields.ts';
import { type Path, type Problem, Problems } from '../machine/problems.ts';
import { circleIn } from './circle.ts';
import type { Connection, Graph, GraphNode } from './definition.ts';
import { readNode, type SoloNode } from './read-node.ts';

export interface ReadGraph {
  /** Undefined if a problem keeps it from running. */
  readonly graph: Graph | undefined;
  readonly problems: readonly Problem[];
}

export interface ReadGraphOptions {
  /** What it is called, where it has no name of its own. */
  readonly name?: string;
  /** The limits that there are; default: every group may be one. */
  readonly groups?: ReadonlySet<string>;
}

export const MOST_NODES = 10_000;
/** Bytes of one as JSON: 400 for each of the most nodes. As much as a definition may have. */
export const MOST_GRAPH = MAX_DEFINITION_BYTES;
const MOST_CONNECTIONS = 100_000;
/** Nodes that a misspelt one is compared to. */
const MOST_LIKENED = 200;
const TOP_FIELDS = new Set([
  'nodes',
  'connections',
  'settings',
  'name',
  'description',
  'enabled',
  'version',
  '$schema',
]);
const CONNECTION_FIELDS = new Set(['id', 'sourceNodeId', 'sourceConnectorId', 'targetNodeId', 'targetConnectorId']);
const REJECTED = 'false';

export function readGraph(value: Value, { name = 'workflow', groups }: ReadGraphOptions = {}): ReadGraph {
  const problems = new Problems();
  if (!isMap(value)) {
    problems.error([], `a workflow is a map, not ${kindOf(value)}`);
    return { graph: undefined, problems: problems.all };
  }
  for (const field of Object.keys(value)) {
    if (!TOP_FIELDS.has(field)) problems.warning([field], `there is no field "${field}"${meant(field, TOP_FIELDS)}`);
  }
  const nodes = readNodes(value['nodes'], { problems, groups });
  // Without nodes every connection would be wrong.
  const connections = nodes.size === 0 ? [] : readConnections(value['connections'], nodes, problems);
  const own = value['name'];
  const graph = linked(
    typeof own === 'string' && own !== '' ? own : name,
    nodes,
    connections,
    settingsOf(value, problems),
  );
  const circle = circleIn(graph.nodes);
  if (circle !== undefined) problems.error(['connections'], `these go in a circle: ${circle.join(' -> ')}`);
  const runs = !problems.all.some(({ level }) => level === 'error');
  return { graph: runs ? graph : undefined, problems: problems.all };
}

/** Each with its place in the file; ids of a map are its keys. */
function entriesOf(
  field: string,
  value: Value,
  most: number,
  problems: Problems,
): readonly (readonly [Path, ValueMap])[] {
  if (!isList(value) && !isMap(value)) {
    problems.error(
      [field],
      value === undefined ? `"${field}" is missing` : `expected a list or a map, found ${kindOf(value)}`,
    );
    return [];
  }
  const all: readonly (readonly [number | string, Value])[] = isList(value)
    ? value.map((one, i) => [i, one] as const)
    : Object.entries(value);
  if (all.length > most) {
    problems.error([field], `there are ${all.length}, and at most ${most} can be`);
    return [];
  }
  return all.flatMap(([key, one]) => {
    const path = [field, key];
    if (isMap(one)) return [[path, typeof key === 'string' ? { id: key, ...one } : one] as const];
    problems.error(path, `expected a map, found ${kindOf(one)}`);
    return [];
  });
}

function readNodes(
  value: Value,
  { problems, groups }: { readonly problems: Problems; readonly groups: ReadonlySet<string> | undefined },
): ReadonlyMap<string, SoloNode> {
  const nodes = new Map<string, SoloNode>();
  const names = new Set<string>();
  const entries = entriesOf('nodes', value, MOST_NODES, problems);
  if (entries.length === 0 && (isList(value) || isMap(value))) problems.error(['nodes'], 'there is no node');
  for (const [path, fields] of entries) {
    const node = readNode(fields, path, { problems, groups });
    if (node === undefined) continue;
    if (nodes.has(node.id)) problems.error([...path, 'id'], `the id ${JSON.stringify(node.id)} comes twice`);
    if (names.has(node.name)) {
      problems.warning(
        [...path, 'name'],
        `the name ${JSON.stringify(node.name)} comes twice: the later one hides the other in items`,
      );
    }
    nodes.set(node.id, node);
    names.add(node.name);
  }
  return nodes;
}

interface Ends {
  readonly from: string;
  readonly to: string;
  readonly rejected: boolean;
}

function readConnections(value: Value, nodes: ReadonlyMap<string, SoloNode>, problems: Problems): readonly Ends[] {
  // A single node needs none.
  if (value === undefined && nodes.size < 2) return [];
  const found = new Map<string, Ends>();
  const ids = new Set<string>();
  for (const [path, fields] of entriesOf('connections', value, MOST_CONNECTIONS, problems)) {
    for (const field of Object.keys(fields)) {
      if (!CONNECTION_FIELDS.has(field)) {
        problems.warning([...path, field], `there is no field "${field}"${meant(field, CONNECTION_FIELDS)}`);
      }
    }
    const { id } = fields;
    if (typeof id === 'string') {
      if (ids.has(id)) problems.error([...path, 'id'], `the id ${JSON.stringify(id)} comes twice`);
      ids.add(id);
    }
    const from = endOf('sourceNodeId', fields, path, nodes, problems);
    const to = endOf('targetNodeId', fields, path, nodes, problems);
    if (from === undefined || to === undefined) continue;
    if (from.id === to.id) {
      problems.error(path, `it connects the node ${JSON.stringify(from.id)} to itself`);
      continue;
    }
    const rejected = connectorOf(fields, from, path, problems);
    const key = JSON.stringify([from.id, to.id, rejected]);
    if (found.has(key)) problems.warning(path, 'it repeats another connection');
    found.set(key, { from: from.id, to: to.id, rejected });
  }
  return [...found.values()];
}

function endOf(
  field: string,
  fields: ValueMap,
  path: Path,
  nodes: ReadonlyMap<string, SoloNode>,
  problems: Problems,
): SoloNode | undefined {
  const id = fields[field];
  const node = typeof id === 'string' ? nodes.get(id) : undefined;
  if (node !== undefined) return node;
  if (typeof id === 'string')
    problems.error(
      [...path, field],
      `there is no node ${JSON.stringify(id.slice(0, 80))}${nodes.size > MOST_LIKENED ? '' : meant(id, nodes.keys())}`,
    );
  else
    problems.error(
      [...path, field],
      id === undefined ? `"${field}" is missing` : `expected a text, found ${kindOf(id)}`,
    );
  return undefined;
}

/** Only a node `if` has two ways out. */
function connectorOf(fields: ValueMap, from: SoloNode, path: Path, problems: Problems): boolean {
  const connector = fields['sourceConnectorId'];
  if (from.work.do !== 'if' || connector === undefined || connector === null) return false;
  if (connector === REJECTED) return true;
  if (typeof connector !== 'string') {
    problems.error([...path, 'sourceConnectorId'], `expected a text, found ${kindOf(connector)}`);
  }
  return false;
}

function settingsOf(value: ValueMap, problems: Problems): string | undefined {
  const settings = value['settings'] ?? {};
  if (!isMap(settings)) {
    problems.error(['settings'], `expected a map, found ${kindOf(settings)}`);
    return undefined;
  }
  const folder = settings['dataDirectory'];
  if (folder === undefined || folder === null || folder === '') return undefined;
  if (typeof folder === 'string') return folder;
  problems.error(['settings', 'dataDirectory'], `expected a text, found ${kindOf(folder)}`);
  return undefined;
}

function linked(
  name: string,
  nodes: ReadonlyMap<string, SoloNode>,
  connections: readonly Ends[],
  dataDirectory: string | undefined,
): Graph {
  const places = new Map([...nodes.keys()].map((id, i) => [id, i]));
  const incoming = Array.from(places, (): Connection[] => []);
  const outgoing = Array.from(places, (): Connection[] => []);
  for (const { from, to, rejected } of connections) {
    const connection = { from: places.get(from) as number, to: places.get(to) as number, rejected };
    outgoing[connection.from]?.push(connection);
    incoming[connection.to]?.push(connection);
  }
  return {
    name,
    dataDirectory,
    nodes: [...nodes.values()].map(
      (node, index): GraphNode => ({
        ...node,
        index,
        incoming: incoming[index] as readonly Connection[],
        outgoing: outgoing[index] as readonly Connection[],
      }),
    ),
  };
}

/** What differs between two workflows, in the words of their files. */
import { isList, isMap, type Value, type ValueMap } from '../expression/values.ts';

export interface GraphChange {
  readonly change: 'added' | 'removed' | 'changed';
  /** `node fetch`, `connection a -> b`, or the name of another field of the file. */
  readonly what: string;
  /** Of a node that was changed. */
  readonly fields?: readonly string[];
}

/** Without an earlier one all is new. Empty: they say the same. */
export function changesBetween(before: Value, after: Value): readonly GraphChange[] {
  const [from, to] = [partsOf(before), partsOf(after)];
  const changes: GraphChange[] = [];
  for (const [what, value] of to) {
    if (!from.has(what)) changes.push({ change: 'added', what });
    else if (!same(from.get(what), value)) changes.push(changed(what, from.get(what), value));
  }
  for (const what of from.keys()) if (!to.has(what)) changes.push({ change: 'removed', what });
  return changes;
}

/** Whether two values are the same JSON, whatever the order of the fields. */
export function same(a: Value, b: Value): boolean {
  return ordered(a) === ordered(b);
}

function changed(what: string, a: Value, b: Value): GraphChange {
  if (!isMap(a) || !isMap(b)) return { change: 'changed', what };
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((field) => !same(a[field], b[field]));
  return { change: 'changed', what, fields };
}

function partsOf(value: Value): ReadonlyMap<string, Value> {
  const parts = new Map<string, Value>();
  if (!isMap(value)) return parts;
  const { nodes, connections, ...rest } = value;
  for (const [id, node] of entriesOf(nodes)) parts.set(`node ${id}`, node);
  for (const [, one] of entriesOf(connections)) parts.set(connectionOf(one), one);
  for (const [field, one] of Object.entries(rest)) if (one !== undefined) parts.set(field, one);
  return parts;
}

function entriesOf(value: Value): readonly (readonly [string, ValueMap])[] {
  if (isMap(value)) return Object.entries(value).flatMap(([id, one]) => (isMap(one) ? [[id, one] as const] : []));
  if (!isList(value)) return [];
  return value.flatMap((one) => (isMap(one) ? [[String(one['id']), one] as const] : []));
}

function connectionOf({ sourceNodeId, sourceConnectorId, targetNodeId }: ValueMap): string {
  const other = sourceConnectorId === 'false' ? ' (false)' : '';
  return `connection ${String(sourceNodeId)}${other} -> ${String(targetNodeId)}`;
}

function ordered(value: Value): string {
  return JSON.stringify(value, (_key, one: Value) =>
    isMap(one) ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))) : one,
  );
}

/** What flows over connections, and what nodes do with it that run within the run. Pure: it gives the same each time. */
import { isList, isMap, mapOf, type Value } from '../expression/values.ts';
import type { GraphNode, Item, Work } from './definition.ts';
import { type ItemTemplate, renderItem } from './expression/item-template.ts';
import { truthy } from './expression/semantics.ts';
import { tooMuch } from './measure.ts';
import { NodeDataError } from './node-data-error.ts';

/** What a node gave. */
export interface NodeOutput {
  readonly kept: readonly Item[];
  readonly rejected: readonly Item[];
}

export const NO_OUTPUT: NodeOutput = { kept: [], rejected: [] };
/** A node to which nothing is connected runs once. */
const ONE_EMPTY: readonly Item[] = [{}];

/** All items of all connections, in their order. */
export function inputOf({ incoming }: GraphNode, outputOf: (node: number) => NodeOutput): readonly Item[] {
  if (incoming.length === 0) return ONE_EMPTY;
  const parts = incoming.map(({ from, rejected }) => outputOf(from)[rejected ? 'rejected' : 'kept']);
  return parts.length === 1 ? (parts[0] as readonly Item[]) : parts.flat();
}

/** Each output stands in the item from which it came, under the name of the node. */
export function combined({ name }: GraphNode, input: readonly Item[], outputs: readonly Value[]): NodeOutput {
  return { kept: outputs.map((output, i) => ({ ...input[i], [name]: output })), rejected: [] };
}

/** What the run brings. */
export interface RunStart {
  /** When the node was reached: calendar time. */
  readonly at: number;
  /** For the trigger. */
  readonly items: readonly Value[] | undefined;
}

export type InlineWork = Exclude<Work, { readonly do: 'task' }>;

/** Throws `ExpressionError` and `NodeDataError` where something takes more than it may. */
export function outputWithin(node: GraphNode, work: InlineWork, input: readonly Item[], start: RunStart): NodeOutput {
  switch (work.do) {
    case 'start':
      return combined(node, input, start.items ?? [{}]);
    case 'scheduled':
      return combined(node, input, start.items ?? [{ time: new Date(start.at).toISOString() }]);
    case 'hardwired':
      return combined(node, input, work.items);
    case 'set':
      return combined(
        node,
        input,
        rendered(node, input, (render) => mapOf(fieldsOf(work.fields, render))),
      );
    case 'transform':
      return combined(
        node,
        input,
        rendered(node, input, (render) => ({ result: render(work.expression) })),
      );
    case 'if':
      return parted(node, input, work.condition);
  }
}

/** What one node adds is what the next may add again twice. */
export function bounded<T extends Value>(value: T): T {
  const problem = tooMuch(value);
  if (problem !== undefined) throw new NodeDataError(problem);
  return value;
}

type Render = (template: ItemTemplate) => Value;

function rendered({ kind }: GraphNode, input: readonly Item[], make: (render: Render) => Value): readonly Value[] {
  const of = (item: Item | undefined): Value =>
    bounded(make((template) => renderItem(template, { item: item ?? {}, items: input })));
  return kind === 'map' ? input.map(of) : [of(input[0])];
}

/** A text that is JSON stands for what it says. */
const fieldsOf = (
  fields: readonly (readonly [string, ItemTemplate])[],
  render: Render,
): readonly (readonly [string, Value])[] => fields.map(([name, template]) => [name, saidBy(render(template))]);

function saidBy(value: Value): Value {
  if (typeof value !== 'string') return value;
  try {
    const said = JSON.parse(value) as Value;
    return tooMuch(said) === undefined ? said : value;
  } catch {
    return value;
  }
}

/** Items go on as they came. */
function parted({ kind }: GraphNode, input: readonly Item[], condition: ItemTemplate): NodeOutput {
  const holds = (item: Item | undefined): boolean => isMet(renderItem(condition, { item: item ?? {}, items: input }));
  if (kind === 'array') return holds(input[0]) ? { kept: input, rejected: [] } : { kept: [], rejected: input };
  const { true: kept = [], false: rejected = [] } = Object.groupBy(
    input,
    (item) => String(holds(item)) as 'true' | 'false',
  );
  return { kept, rejected };
}

const NOT_MET: ReadonlySet<string> = new Set(['false', '0', 'null', 'undefined', '']);

/** A condition that is a text is one that was typed into a form. */
const isMet = (value: Value): boolean =>
  typeof value === 'string' ? !NOT_MET.has(value.trim().toLowerCase()) : truthy(value);

/** Items of a run, as somebody gave them. */
export function itemsGiven(input: Value): readonly Value[] | undefined {
  if (input === undefined || input === null) return undefined;
  if (isList(input)) return input;
  return isMap(input) && Object.keys(input).length === 0 ? undefined : [input];
}

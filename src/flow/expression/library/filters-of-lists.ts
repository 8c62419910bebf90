import type { Invocable, Invocation } from '../evaluate.ts';
import { ExpressionError } from '../expression-error.ts';
import { binary } from '../operators.ts';
import { json, textOf } from '../text.ts';
import {
  equals,
  isList,
  isMap,
  isTrue,
  itemsOf,
  kindOf,
  lengthOf,
  lookUp,
  mapOf,
  order,
  type Value,
} from '../values.ts';
import { argument, mapGiven, textArgument, wholeArgument } from './given.ts';

export const listFilters: Readonly<Record<string, Invocable>> = {
  length: ({ of, budget, at }) => lengthOf(of, budget, at),
  count: ({ of, budget, at }) => lengthOf(of, budget, at),
  default: (given) => withDefault(given),
  d: (given) => withDefault(given),
  first: ({ of, budget, at }) => itemsOf(of, budget, at)[0],
  last: ({ of, budget, at }) => itemsOf(of, budget, at).at(-1),
  list: (given) => [...items(given)],
  join: (given) => joined(given),
  reverse: (given) => reversed(given),
  max: (given) => extreme(given, 1),
  min: (given) => extreme(given, -1),
  sum: (given) => summed(given),
  sort: (given) => sorted(given),
  unique: (given) => unique(given),
  batch: (given) => batches(given),
  slice: (given) => slices(given),
  map: (given) => mapped(given),
  select: (given) => chosen(given, true),
  reject: (given) => chosen(given, false),
  selectattr: (given) => chosenByAttribute(given, true),
  rejectattr: (given) => chosenByAttribute(given, false),
  groupby: (given) => grouped(given),
  items: (given) => entries(given),
  dictsort: (given) => sortedEntries(given),
  keys: (given) => itemsOf(Object.keys(mapGiven(given)), given.budget, given.at),
  values: (given) => itemsOf(Object.values(mapGiven(given)), given.budget, given.at),
  attr: (given) => lookUp(given.of, argument(given, 0, 'name')),
  tojson: (given) => jsonText(given),
  /** The name that Nunjucks has for it. */
  dump: (given) => jsonText(given),
};

function jsonText(given: Invocation): string {
  const { of, budget, at } = given;
  const indent = argument(given, 0, 'indent');
  const text = json(of, budget, at); // counts its size before the other form of it is made
  budget.grow(at, text.length);
  return JSON.stringify(of ?? null, null, typeof indent === 'number' ? Math.min(8, indent) : undefined);
}

const items = ({ of, budget, at }: Invocation): readonly Value[] => itemsOf(of, budget, at);

/** For what is not there; with `true` as second argument, for all that is false. */
function withDefault(given: Invocation): Value {
  const { of } = given;
  const useDefault = argument(given, 1, 'boolean') === true ? !isTrue(of) : of === undefined;
  if (!useDefault) return of;
  const instead = argument(given, 0, 'default_value');
  return instead === undefined ? '' : instead; // `default(none)` asks for null
}

function joined(given: Invocation): string {
  const { budget, at } = given;
  const separator = textArgument(given, 0, 'd', '');
  const attribute = argument(given, 1, 'attribute');
  const texts = items(given).map((item) => textOf(attributeOf(item, attribute), budget, at));
  budget.grow(at, texts.length * separator.length);
  return texts.join(separator);
}

function reversed(given: Invocation): Value {
  const inOrder = items(given);
  const turned = inOrder.toReversed();
  return typeof given.of === 'string' ? turned.join('') : turned;
}

/** `item.name`, `item.0.name`. */
function attributeOf(item: Value, attribute: Value): Value {
  if (attribute === undefined || attribute === null) return item;
  if (typeof attribute === 'number') return lookUp(item, attribute);
  if (typeof attribute !== 'string') return undefined;
  return attribute.split('.').reduce<Value>((value, name) => lookUp(value, name), item);
}

/** Texts are compared without regard to case unless it says otherwise, as in Jinja. */
function keyFor(given: Invocation, casePlace: number, attribute: Value): (item: Value) => Value {
  const caseSensitive = argument(given, casePlace, 'case_sensitive') === true;
  return (item) => {
    const key = attributeOf(item, attribute);
    return typeof key === 'string' && !caseSensitive ? key.toLowerCase() : key;
  };
}

function extreme(given: Invocation, sign: 1 | -1): Value {
  const { budget, at } = given;
  const key = keyFor(given, 0, argument(given, 1, 'attribute'));
  let best: { readonly item: Value; readonly key: Value } | undefined;
  for (const item of items(given)) {
    const candidate = { item, key: key(item) };
    if (best === undefined || compared(candidate.key, best.key, given) * sign > 0) best = candidate;
  }
  budget.step(at);
  return best?.item;
}

function compared(a: Value, b: Value, { budget, at }: Invocation): number {
  const ordered = order(a, b, budget, at);
  if (ordered === undefined) throw new ExpressionError(`${kindOf(a)} and ${kindOf(b)} have no order`, at);
  return ordered;
}

function summed(given: Invocation): Value {
  const { budget, at } = given;
  const attribute = argument(given, 0, 'attribute');
  const start = argument(given, 1, 'start') ?? 0;
  return items(given).reduce<Value>((sum, item) => binary('+', sum, attributeOf(item, attribute), budget, at), start);
}

function sorted(given: Invocation): readonly Value[] {
  const attribute = argument(given, 2, 'attribute');
  const falling = argument(given, 0, 'reverse') === true;
  const key = keyFor(given, 1, attribute);
  const keyed = items(given).map((item) => ({ item, key: key(item) }));
  keyed.sort((a, b) => compared(a.key, b.key, given) * (falling ? -1 : 1));
  return keyed.map(({ item }) => item);
}

function unique(given: Invocation): readonly Value[] {
  const { budget, at } = given;
  const key = keyFor(given, 0, argument(given, 1, 'attribute'));
  const kept: { readonly item: Value; readonly key: Value }[] = [];
  for (const item of items(given)) {
    const own = key(item);
    if (!kept.some((one) => equals(one.key, own, budget, at))) kept.push({ item, key: own });
  }
  return kept.map(({ item }) => item);
}

function positive(given: Invocation, name: string): number {
  const count = wholeArgument(given, 0, name, 0);
  if (count > 0) return count;
  throw new ExpressionError(`${name} is at least 1`, given.at);
}

function batches(given: Invocation): readonly Value[] {
  const size = positive(given, 'linecount');
  const fill = argument(given, 1, 'fill_with');
  const all = items(given);
  given.budget.grow(given.at, size);
  const made: Value[][] = [];
  for (let i = 0; i < all.length; i += size) made.push(all.slice(i, i + size));
  const last = made.at(-1);
  if (fill !== undefined && last !== undefined) while (last.length < size) last.push(fill);
  return made;
}

function slices(given: Invocation): readonly Value[] {
  const count = positive(given, 'slices');
  const fill = argument(given, 1, 'fill_with');
  const all = items(given);
  given.budget.grow(given.at, count);
  given.budget.step(given.at, count);
  const [each, more] = [Math.floor(all.length / count), all.length % count];
  let from = 0;
  return Array.from({ length: count }, (_, i) => {
    const to = from + each + (i < more ? 1 : 0);
    const part = all.slice(from, to);
    from = to;
    return fill !== undefined && more > 0 && i >= more ? [...part, fill] : part;
  });
}

/** By a filter, or by `attribute=`, with `default=` for items without it. */
function mapped(given: Invocation): readonly Value[] {
  const { args, named, library, budget, at } = given;
  const attribute = named.get('attribute');
  if (attribute !== undefined) {
    return items(given).map((item) => attributeOf(item, attribute) ?? named.get('default') ?? null);
  }
  const name = textArgument(given, 0, 'filter');
  const filter = library.filters.get(name);
  if (filter === undefined) throw new ExpressionError(`there is no filter "${name}"`, at);
  return items(given).map((of) => filter({ of, args: args.slice(1), named, budget, at, library }) ?? null);
}

function testOf(given: Invocation, place: number): (of: Value) => boolean {
  const { args, named, library, budget, at } = given;
  if (args.length <= place) return isTrue;
  const name = textArgument(given, place, 'test');
  const test = library.tests.get(name);
  if (test === undefined) throw new ExpressionError(`there is no test "${name}"`, at);
  return (of) => test({ of, args: args.slice(place + 1), named, budget, at, library });
}

function chosen(given: Invocation, wanted: boolean): readonly Value[] {
  const test = testOf(given, 0);
  return items(given).filter((item) => test(item) === wanted);
}

function chosenByAttribute(given: Invocation, wanted: boolean): readonly Value[] {
  const attribute = argument(given, 0, 'attribute');
  const test = testOf(given, 1);
  return items(given).filter((item) => test(attributeOf(item, attribute)) === wanted);
}

/** Pairs of what is shared and the items that share it, which are `grouper` and `list` as well. */
function grouped(given: Invocation): readonly Value[] {
  const { budget, at } = given;
  const attribute = argument(given, 0, 'attribute');
  const otherwise = argument(given, 1, 'default');
  const groups: { readonly grouper: Value; readonly list: Value[] }[] = [];
  for (const item of items(given)) {
    const grouper = attributeOf(item, attribute) ?? otherwise ?? null;
    const group = groups.find((one) => equals(one.grouper, grouper, budget, at));
    if (group === undefined) groups.push({ grouper, list: [item] });
    else group.list.push(item);
  }
  return groups.toSorted((a, b) => compared(a.grouper, b.grouper, given)).map(({ grouper, list }) => [grouper, list]);
}

export function entries(given: Invocation): readonly (readonly [string, Value])[] {
  const pairs = Object.entries(mapGiven(given));
  given.budget.step(given.at, pairs.length);
  return pairs;
}

function sortedEntries(given: Invocation): readonly Value[] {
  const by = textArgument(given, 1, 'by', 'key');
  if (by !== 'key' && by !== 'value') throw new ExpressionError(`by is key or value, not "${by}"`, given.at);
  const falling = argument(given, 2, 'reverse') === true;
  const lower = keyFor(given, 0, undefined);
  const key = ([name, value]: readonly [string, Value]): Value => lower(by === 'key' ? name : value);
  return entries(given).toSorted((a, b) => compared(key(a), key(b), given) * (falling ? -1 : 1));
}

/** A list of pairs, or a map, as a map. */
export function mapFrom(value: Value, named: ReadonlyMap<string, Value>, { budget, at }: Invocation): Value {
  const pairs: (readonly [string, Value])[] = [];
  if (isMap(value)) pairs.push(...Object.entries(value));
  else if (isList(value))
    for (const pair of value) pairs.push([textOf(lookUp(pair, 0), budget, at), lookUp(pair, 1) ?? null]);
  budget.step(at, pairs.length);
  return mapOf([...pairs, ...named]);
}

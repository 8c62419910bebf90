/** What a node says of its work: values in which texts have `{{ expressions }}` over the item. */
import type { Expression } from '../../expression/ast.ts';
import { Budget, TEMPLATE_BOUNDS } from '../../expression/budget.ts';
import { evaluate } from '../../expression/evaluate.ts';
import { ExpressionError } from '../../expression/expression-error.ts';
import { scopeOf } from '../../expression/scope.ts';
import { isList, isMap, mapOf, type Value } from '../../expression/values.ts';
import type { Path } from '../../machine/problems.ts';
import { graphLibrary } from './library.ts';
import { parseGraphExpression } from './parse.ts';
import { graphSemantics, printed } from './semantics.ts';

export type ItemTemplate =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'text'; readonly source: string; readonly parts: readonly (string | Expression)[] }
  | { readonly kind: 'list'; readonly items: readonly ItemTemplate[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, ItemTemplate])[] };

const OPEN = '{{';
const CLOSE = '}}';

/** `onProblem` is told of each expression that cannot be read; its text stands for itself then. */
export function itemTemplateOf(
  value: Value,
  path: Path,
  onProblem: (path: Path, source: string, error: ExpressionError) => void,
): ItemTemplate {
  if (isList(value)) {
    const items = value.map((item, i) => itemTemplateOf(item, [...path, i], onProblem));
    return items.every(({ kind }) => kind === 'constant') ? { kind: 'constant', value } : { kind: 'list', items };
  }
  if (isMap(value)) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, itemTemplateOf(item, [...path, key], onProblem)] as const,
    );
    return entries.every(([, { kind }]) => kind === 'constant')
      ? { kind: 'constant', value }
      : { kind: 'map', entries };
  }
  if (typeof value !== 'string' || !value.includes(OPEN)) return { kind: 'constant', value };
  return textOf(value, (source, error) => onProblem(path, source, error));
}

function textOf(source: string, onProblem: (source: string, error: ExpressionError) => void): ItemTemplate {
  const parts: (string | Expression)[] = [];
  let end = 0;
  for (;;) {
    const open = source.indexOf(OPEN, end);
    // A text that comes from anybody is gone through once, whatever is not closed in it.
    const close = open < 0 ? -1 : source.indexOf(CLOSE, open + OPEN.length);
    if (close < 0) break;
    if (open > end) parts.push(source.slice(end, open));
    end = close + CLOSE.length;
    const inner = source.slice(open + OPEN.length, close);
    try {
      parts.push(parseGraphExpression(inner));
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      onProblem(inner, error);
      return { kind: 'constant', value: source };
    }
  }
  if (end < source.length) parts.push(source.slice(end));
  return parts.every((part) => typeof part === 'string')
    ? { kind: 'constant', value: source }
    : { kind: 'text', source, parts };
}

export interface ItemScope {
  /** `$` */
  readonly item: Value;
  /** `$items` */
  readonly items: readonly Value[];
}

/**
 * A lone expression keeps the type of its value. A text of which an expression fails is as it was written; one that takes more than its
 * budget fails the node.
 */
export function renderItem(template: ItemTemplate, scope: ItemScope): Value {
  switch (template.kind) {
    case 'constant':
      return template.value;
    case 'list':
      return template.items.map((item) => renderItem(item, scope));
    case 'map':
      return mapOf(template.entries.map(([key, item]) => [key, renderItem(item, scope)]));
    case 'text':
      return renderText(template, scope);
  }
}

function renderText({ source, parts }: ItemTemplate & { readonly kind: 'text' }, { item, items }: ItemScope): Value {
  const budget = new Budget(TEMPLATE_BOUNDS);
  const scope = scopeOf({ $: item, $items: items });
  const value = (part: Expression): Value =>
    evaluate(part, { scope, budget, library: graphLibrary, semantics: graphSemantics, lenient: false });
  try {
    const [only] = parts;
    if (parts.length === 1 && typeof only === 'object') return value(only) ?? null;
    return parts.map((part) => (typeof part === 'string' ? part : printed(value(part), budget, part.at))).join('');
  } catch (error) {
    if (error instanceof ExpressionError && !error.overBudget) return source;
    throw error;
  }
}

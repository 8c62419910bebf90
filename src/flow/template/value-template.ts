import { type Bounds, TEMPLATE_BOUNDS } from '../expression/budget.ts';
import { isList, isMap, mapOf, type Value, type ValueMap } from '../expression/values.ts';
import { renderTemplate, type Template, type TemplateMode, templateOf } from './template.ts';

/** A value of a machine whose strings are templates, read once. */
export type ValueTemplate =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'text'; readonly template: Template }
  | { readonly kind: 'list'; readonly items: readonly ValueTemplate[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, ValueTemplate])[] };

/** Says which string of the value cannot be read: its path, and what is wrong with it. */
export type OnUnreadable = (path: readonly (string | number)[], source: string, error: unknown) => void;

/** A string that cannot be read stands for itself, after `onUnreadable` was told. */
export function valueTemplateOf(
  value: Value,
  onUnreadable: OnUnreadable,
  path: readonly (string | number)[] = [],
): ValueTemplate {
  if (isList(value)) {
    return together(
      value.map((item, i) => valueTemplateOf(item, onUnreadable, [...path, i])),
      value,
    );
  }
  if (isMap(value)) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, valueTemplateOf(item, onUnreadable, [...path, key])] as const,
    );
    return entries.every(([, item]) => item.kind === 'constant')
      ? { kind: 'constant', value }
      : { kind: 'map', entries };
  }
  if (typeof value !== 'string') return { kind: 'constant', value };
  try {
    const template = templateOf(value);
    return template.kind === 'literal' ? { kind: 'constant', value } : { kind: 'text', template };
  } catch (error) {
    onUnreadable(path, value, error);
    return { kind: 'constant', value };
  }
}

function together(items: readonly ValueTemplate[], value: Value): ValueTemplate {
  return items.every(({ kind }) => kind === 'constant') ? { kind: 'constant', value } : { kind: 'list', items };
}

/** The value, with everything that its templates say. */
export function renderValue(
  template: ValueTemplate,
  scope: ValueMap,
  mode: TemplateMode = 'native',
  bounds: Bounds = TEMPLATE_BOUNDS,
): Value {
  switch (template.kind) {
    case 'constant':
      return copyOf(template.value);
    case 'text':
      return renderTemplate(template.template, scope, { mode, bounds });
    case 'list':
      return template.items.map((item) => renderValue(item, scope, mode, bounds));
    case 'map':
      return mapOf(template.entries.map(([key, item]) => [key, renderValue(item, scope, mode, bounds)]));
  }
}

/** A list or a map of the machine itself is copied: a hook may write to what it is given, and the machine runs again. */
function copyOf(value: Value): Value {
  if (isList(value)) return value.map(copyOf);
  return isMap(value) ? mapOf(Object.entries(value).map(([key, item]) => [key, copyOf(item)])) : value;
}

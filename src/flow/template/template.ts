/** A string of a machine: literal text, a bare path, or a template. */
import { type Bounds, Budget, TEMPLATE_BOUNDS } from '../expression/budget.ts';
import { scopeOf } from '../expression/scope.ts';
import { lookUp, type Value, type ValueMap } from '../expression/values.ts';
import type { Block } from './blocks.ts';
import { parseTemplate } from './parse.ts';
import { evaluateIn, renderBlocks } from './render.ts';

/**
 * `native`: a lone `{{ expr }}` keeps the type of its value. `v0`: what a text says in JSON is that value, as in the first versions.
 * `early`: native, but `{{ value | tojson }}` is the value again: before version 1.1 every SDK read it back, and machines rely on it.
 */
export type TemplateMode = 'native' | 'v0' | 'early';

export type Template =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'path'; readonly path: readonly string[] }
  | { readonly kind: 'blocks'; readonly blocks: readonly Block[] };

const PATH = /^(?:output|context|input)(?:\.[A-Za-z_]\w*)*$/;

export function templateOf(source: string, bounds: Bounds = TEMPLATE_BOUNDS): Template {
  if (PATH.test(source.trim())) return { kind: 'path', path: source.trim().split('.') };
  if (!/\{[{%#]/.test(source)) return { kind: 'literal', text: source };
  // Space around a lone value is not part of it.
  const trimmed = source.trim();
  const lone = trimmed.startsWith('{{') && trimmed.endsWith('}}') ? parseTemplate(trimmed, bounds) : undefined;
  return { kind: 'blocks', blocks: lone?.length === 1 ? lone : parseTemplate(source, bounds) };
}

/** What a template says, never undefined: what is missing is null. */
export function renderTemplate(
  template: Template,
  values: ValueMap,
  { mode = 'native', bounds = TEMPLATE_BOUNDS }: { readonly mode?: TemplateMode; readonly bounds?: Bounds } = {},
): Value {
  if (template.kind === 'literal') return template.text;
  if (template.kind === 'path') {
    const [root = '', ...names] = template.path;
    return names.reduce<Value>((value, name) => lookUp(value, name), lookUp(values, root)) ?? null;
  }
  const budget = new Budget(bounds);
  const scope = scopeOf(values);
  const [only, ...others] = template.blocks;
  const value =
    only?.kind === 'print' && others.length === 0
      ? (evaluateIn(only.value, scope, budget) ?? null)
      : renderBlocks(template.blocks, scope, budget);
  const readBack = mode === 'v0' || (mode === 'early' && others.length === 0 && printsJson(only));
  return readBack && typeof value === 'string' ? saidByJson(value) : value;
}

const printsJson = (block: Block | undefined): boolean =>
  block?.kind === 'print' && block.value.kind === 'filter' && ['tojson', 'dump'].includes(block.value.name);

function saidByJson(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return text;
  }
}

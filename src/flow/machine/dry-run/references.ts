/** What an expression or a template reads: `context.job.id` is `['context', 'job']`, and `context` alone is `['context']`. */
import type { Arguments, Expression } from '../../expression/ast.ts';
import type { Block } from '../../template/blocks.ts';
import type { Template } from '../../template/template.ts';

export type Reference = readonly [root: string, key?: string];

export function referencesOfTemplate(template: Template): readonly Reference[] {
  if (template.kind === 'literal') return [];
  if (template.kind === 'path') {
    const [root = '', key] = template.path;
    return [key === undefined ? [root] : [root, key]];
  }
  return template.blocks.flatMap(ofBlock);
}

function ofBlock(block: Block): readonly Reference[] {
  switch (block.kind) {
    case 'text':
      return [];
    case 'print':
      return referencesOf(block.value);
    case 'if': {
      const branches = block.branches.flatMap(({ test, body }) => [...referencesOf(test), ...body.flatMap(ofBlock)]);
      return [...branches, ...block.otherwise.flatMap(ofBlock)];
    }
    case 'for': {
      const inside = [...optional(block.test), ...block.body.flatMap(ofBlock)];
      const own = inside.filter(([root]) => root !== 'loop' && !block.names.includes(root));
      return [...referencesOf(block.of), ...own, ...block.otherwise.flatMap(ofBlock)];
    }
    case 'with': {
      const names = block.entries.map(([name]) => name);
      const own = block.body.flatMap(ofBlock).filter(([root]) => !names.includes(root));
      return [...block.entries.flatMap(([, value]) => referencesOf(value)), ...own];
    }
    case 'set':
      return 'kind' in block.value ? referencesOf(block.value) : block.value.flatMap(ofBlock);
  }
}

/** All that it may read, also in branches that are not taken. */
export function referencesOf(expression: Expression): readonly Reference[] {
  switch (expression.kind) {
    case 'literal':
      return [];
    case 'name':
      return [[expression.name]];
    case 'member':
    case 'has':
      return ofMember(expression.of, expression.name);
    case 'index': {
      const { of, index } = expression;
      if (index.kind === 'literal' && typeof index.value === 'string') return ofMember(of, index.value);
      return [...referencesOf(of), ...referencesOf(index)];
    }
    case 'slice':
      return [...referencesOf(expression.of), ...optional(expression.from, expression.to, expression.step)];
    case 'list':
      return expression.items.flatMap(referencesOf);
    case 'map':
      return expression.entries.flatMap(([key, value]) => [...referencesOf(key), ...referencesOf(value)]);
    case 'unary':
      return referencesOf(expression.of);
    case 'binary':
    case 'logical':
      return [...referencesOf(expression.left), ...referencesOf(expression.right)];
    case 'comparison':
      return [...referencesOf(expression.first), ...expression.rest.flatMap(({ right }) => referencesOf(right))];
    case 'choice':
      return [...referencesOf(expression.test), ...referencesOf(expression.yes), ...optional(expression.no)];
    case 'call':
      return ofArguments(expression);
    case 'method':
    case 'filter':
    case 'is':
      return [...referencesOf(expression.of), ...ofArguments(expression)];
    case 'macro': {
      const inside = [...optional(expression.test), ...referencesOf(expression.body)];
      return [...referencesOf(expression.of), ...inside.filter(([root]) => root !== expression.name)];
    }
  }
}

function ofMember(of: Expression, name: string): readonly Reference[] {
  return of.kind === 'name' ? [[of.name, name]] : referencesOf(of);
}

const ofArguments = ({ args, named }: Arguments): readonly Reference[] => [
  ...args.flatMap(referencesOf),
  ...named.flatMap(([, value]) => referencesOf(value)),
];

const optional = (...parts: readonly (Expression | undefined)[]): readonly Reference[] =>
  parts.flatMap((part) => (part === undefined ? [] : referencesOf(part)));

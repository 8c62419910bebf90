import type { Expression } from '../expression/ast.ts';

/** A parsed template: texts, prints and statements in order. */
export type Block = TextBlock | PrintBlock | IfBlock | ForBlock | SetBlock | WithBlock;

export interface TextBlock {
  readonly kind: 'text';
  readonly text: string;
}
/** `{{ value }}` */
export interface PrintBlock {
  readonly kind: 'print';
  readonly value: Expression;
}
/** `{% if test %} … {% elif test %} … {% else %} … {% endif %}` */
export interface IfBlock {
  readonly kind: 'if';
  readonly branches: readonly { readonly test: Expression; readonly body: readonly Block[] }[];
  readonly otherwise: readonly Block[];
}
/** `{% for a, b in items if test %} … {% else %} … {% endfor %}` */
export interface ForBlock {
  readonly kind: 'for';
  readonly names: readonly string[];
  readonly of: Expression;
  readonly test: Expression | undefined;
  readonly body: readonly Block[];
  readonly otherwise: readonly Block[];
  readonly at: number;
}
/** `{% set name = value %}`, `{% set name %} … {% endset %}`, or `{% set space.field = value %}` for a namespace. */
export interface SetBlock {
  readonly kind: 'set';
  readonly names: readonly string[];
  /** Of the namespace that `names` has then. */
  readonly field: string | undefined;
  readonly value: Expression | readonly Block[];
  readonly at: number;
}
/** `{% with a = 1, b = 2 %} … {% endwith %}`: names that are there within it only. */
export interface WithBlock {
  readonly kind: 'with';
  readonly entries: readonly (readonly [name: string, value: Expression])[];
  readonly body: readonly Block[];
}

import type { Expression } from '../expression/ast.ts';

/** A parsed template: texts, prints and statements in order. */
export type Block = TextBlock | PrintBlock | IfBlock | ForBlock | SetBlock;

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
/** `{% set name = value %}`, or `{% set name %} … {% endset %}`. */
export interface SetBlock {
  readonly kind: 'set';
  readonly names: readonly string[];
  readonly value: Expression | readonly Block[];
  readonly at: number;
}

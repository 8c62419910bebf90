/** The one syntax tree of conditions, templates and CEL. `at` is the offset of the part in its source. */

export type Expression =
  | Literal
  | Name
  | Member
  | Index
  | Slice
  | ListLiteral
  | MapLiteral
  | Unary
  | Binary
  | Comparison
  | Logical
  | Choice
  | Call
  | Method
  | Filter
  | Is
  | Has
  | Macro;

interface Part {
  readonly at: number;
}

export interface Literal extends Part {
  readonly kind: 'literal';
  /** CEL has whole numbers of their own kind (bigint), unsigned ones and bytes; see `flow/cel`. */
  readonly value: unknown;
}
export interface Name extends Part {
  readonly kind: 'name';
  readonly name: string;
}
export interface Member extends Part {
  readonly kind: 'member';
  readonly of: Expression;
  readonly name: string;
}
export interface Index extends Part {
  readonly kind: 'index';
  readonly of: Expression;
  readonly index: Expression;
}
export interface Slice extends Part {
  readonly kind: 'slice';
  readonly of: Expression;
  readonly from: Expression | undefined;
  readonly to: Expression | undefined;
  readonly step: Expression | undefined;
}
export interface ListLiteral extends Part {
  readonly kind: 'list';
  readonly items: readonly Expression[];
}
export interface MapLiteral extends Part {
  readonly kind: 'map';
  readonly entries: readonly (readonly [Expression, Expression])[];
}
export interface Unary extends Part {
  readonly kind: 'unary';
  readonly op: 'not' | '-' | '+';
  readonly of: Expression;
}
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**' | '~';
export interface Binary extends Part {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';
/** `a < b < c` compares each pair of neighbours, and evaluates `b` once. */
export interface Comparison extends Part {
  readonly kind: 'comparison';
  readonly first: Expression;
  readonly rest: readonly { readonly op: CompareOperator; readonly right: Expression }[];
}
export interface Logical extends Part {
  readonly kind: 'logical';
  readonly op: 'and' | 'or';
  readonly left: Expression;
  readonly right: Expression;
}
/** `yes if test else no`, `test ? yes : no`. */
export interface Choice extends Part {
  readonly kind: 'choice';
  readonly test: Expression;
  readonly yes: Expression;
  readonly no: Expression | undefined;
}
export interface Arguments {
  readonly args: readonly Expression[];
  readonly named: readonly (readonly [name: string, value: Expression])[];
}
export interface Call extends Part, Arguments {
  readonly kind: 'call';
  readonly name: string;
}
export interface Method extends Part, Arguments {
  readonly kind: 'method';
  readonly of: Expression;
  readonly name: string;
}
export interface Filter extends Part, Arguments {
  readonly kind: 'filter';
  readonly of: Expression;
  readonly name: string;
}
/** `x is defined`. */
export interface Is extends Part, Arguments {
  readonly kind: 'is';
  readonly of: Expression;
  readonly name: string;
  readonly not: boolean;
}
/** `has(x.name)` of CEL. */
export interface Has extends Part {
  readonly kind: 'has';
  readonly of: Expression;
  readonly name: string;
}
export type MacroName = 'all' | 'exists' | 'exists_one' | 'filter' | 'map';
/** `list.all(name, test)` of CEL: `body` is evaluated for each item. `test` is the middle one of `list.map(name, test, body)`. */
export interface Macro extends Part {
  readonly kind: 'macro';
  readonly macro: MacroName;
  readonly of: Expression;
  readonly name: string;
  readonly test: Expression | undefined;
  readonly body: Expression;
}

/** The syntax tree of a regular expression in the syntax of RE2: no look-around, no back references. */
export type Pattern =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly test: CharTest }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly options: readonly Pattern[] }
  | {
      readonly kind: 'repeat';
      readonly of: Pattern;
      readonly least: number;
      readonly most: number;
      readonly greedy: boolean;
    }
  | { readonly kind: 'group'; readonly of: Pattern; readonly slot: number };

/** Whether a character, given by its code point, is one of those meant. */
export type CharTest = (code: number) => boolean;
export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'wordEdge' | 'noWordEdge';

export interface Parsed {
  readonly pattern: Pattern;
  /** Groups that capture, without the whole match. */
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
}

import type { Expression } from '../expression/ast.ts';
import { type Bounds, TEMPLATE_BOUNDS } from '../expression/budget.ts';
import { Cursor } from '../expression/cursor.ts';
import { ExpressionError } from '../expression/expression-error.ts';
import { TEMPLATE_WORDS } from '../expression/library/library.ts';
import { parseExpression } from '../expression/parser.ts';
import { tokensOf } from '../expression/tokens.ts';
import type { Block, ForBlock, IfBlock, SetBlock, WithBlock } from './blocks.ts';

/** Parses a template in the language of Jinja: prints, `if`, `for`, `set`, `with`, `raw` and comments. */
export function parseTemplate(source: string, bounds: Bounds = TEMPLATE_BOUNDS): readonly Block[] {
  if (source.length > bounds.source) {
    throw new ExpressionError(`this is longer than ${bounds.source} characters`, bounds.source, { overBudget: true });
  }
  return new TemplateParser(source, bounds).parse();
}

const TAG = /\{\{|\{%|\{#/g;
const PRINT_END = /-?\}\}/y;
const STATEMENT_END = /[-+]?%\}/y;
const RAW = /\{%[-+]?\s*raw\s*([-+]?)%\}/y;
const END_RAW = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g;

/** The statement that ended a body, with its cursor behind its first word. */
interface Ending {
  readonly word: string;
  readonly cursor: Cursor;
  readonly at: number;
}

class TemplateParser {
  readonly #source: string;
  readonly #bounds: Bounds;
  #at = 0;
  #nodes = 0;
  #depth = 0;
  /** The tag before asked that the space behind it goes. */
  #trimsNext = false;

  constructor(source: string, bounds: Bounds) {
    // The last line break of a template does not belong to it, as in Jinja.
    this.#source = source.replace(/\r?\n$/, '');
    this.#bounds = bounds;
  }

  parse(): readonly Block[] {
    const { blocks, ending } = this.#body([]);
    if (ending !== undefined) throw new ExpressionError(`"${ending.word}" closes nothing`, ending.at);
    return blocks;
  }

  /** Blocks up to one of these statements, or to the end of the template. */
  #body(endings: readonly string[]): { readonly blocks: readonly Block[]; readonly ending: Ending | undefined } {
    if (++this.#depth > this.#bounds.depth) {
      throw new ExpressionError(`this is nested more than ${this.#bounds.depth} deep`, this.#at, { overBudget: true });
    }
    const blocks: Block[] = [];
    for (;;) {
      const tag = this.#text(blocks);
      if (tag === undefined) {
        this.#depth--;
        return { blocks, ending: undefined };
      }
      if (tag === '{#') this.#comment();
      else if (tag === '{{') blocks.push(this.#print());
      else if (this.#raw(blocks)) continue;
      else {
        const statement = this.#statement();
        if (endings.includes(statement.word) || /^(?:end|el)/.test(statement.word)) {
          this.#depth--;
          return { blocks, ending: statement };
        }
        blocks.push(this.#block(statement));
      }
    }
  }

  /** Takes the text up to the next tag, and gives the sign that opens it. */
  #text(blocks: Block[]): string | undefined {
    TAG.lastIndex = this.#at;
    const tag = TAG.exec(this.#source);
    const end = tag?.index ?? this.#source.length;
    let text = this.#source.slice(this.#at, end);
    if (this.#trimsNext) text = text.trimStart();
    this.#trimsNext = false;
    if (tag !== null && this.#source[end + 2] === '-') text = text.trimEnd();
    this.#add(blocks, text, this.#at);
    this.#at = end;
    return tag?.[0];
  }

  #add(blocks: Block[], text: string, at: number): void {
    if (text === '') return;
    this.#count(1, at);
    blocks.push({ kind: 'text', text });
  }

  #count(nodes: number, at: number): void {
    this.#nodes += nodes;
    if (this.#nodes > this.#bounds.nodes) {
      throw new ExpressionError(`this has more than ${this.#bounds.nodes} parts`, at, { overBudget: true });
    }
  }

  #comment(): void {
    const end = this.#source.indexOf('#}', this.#at + 2);
    if (end < 0) throw new ExpressionError('this comment is not closed: expected "#}"', this.#at);
    this.#trimsNext = this.#source[end - 1] === '-' && end - 1 > this.#at + 1;
    this.#at = end + 2;
  }

  /** `{% raw %}`: what stands up to `{% endraw %}` is text. */
  #raw(blocks: Block[]): boolean {
    RAW.lastIndex = this.#at;
    const begin = RAW.exec(this.#source);
    if (begin === null) return false;
    END_RAW.lastIndex = RAW.lastIndex;
    const end = END_RAW.exec(this.#source);
    if (end === null) throw new ExpressionError('this is not closed: expected {% endraw %}', this.#at);
    let text = this.#source.slice(RAW.lastIndex, end.index);
    if (begin[1] === '-') text = text.trimStart();
    if (end[1] === '-') text = text.trimEnd();
    this.#add(blocks, text, RAW.lastIndex);
    this.#trimsNext = end[2] === '-';
    this.#at = END_RAW.lastIndex;
    return true;
  }

  #print(): Block {
    const cursor = this.#open(PRINT_END);
    const value = this.#expression(cursor);
    this.#close(cursor, '}}');
    return { kind: 'print', value };
  }

  #statement(): Ending {
    const cursor = this.#open(STATEMENT_END);
    const { text: word, at } = cursor.expectName();
    return { word, cursor, at };
  }

  /** The tokens of the tag that begins here. */
  #open(end: RegExp): Cursor {
    const signed = /[-+]/.test(this.#source[this.#at + 2] ?? '') ? 1 : 0;
    // A minus directly behind the sign asks for space to go; it is not the sign of a number.
    return new Cursor(tokensOf(this.#source, this.#at + 2 + signed, end), this.#bounds);
  }

  #expression(cursor: Cursor): Expression {
    return parseExpression(cursor, TEMPLATE_WORDS);
  }

  /** The tag must end here. */
  #close(cursor: Cursor, sign: string): void {
    const { token } = cursor;
    if (token.kind !== 'end' || token.at >= this.#source.length) throw cursor.unexpected(`"${sign}"`);
    this.#count(cursor.nodes + 1, token.at);
    this.#trimsNext = this.#source[token.at] === '-';
    this.#at = this.#source.indexOf(sign, token.at) + sign.length;
  }

  #block({ word, cursor, at }: Ending): Block {
    if (word === 'if') return this.#if(cursor, at);
    if (word === 'for') return this.#for(cursor, at);
    if (word === 'set') return this.#set(cursor, at);
    if (word === 'with') return this.#with(cursor, at);
    throw new ExpressionError(`there is no statement "${word}"; there are for, if, raw, set, with`, at);
  }

  #if(cursor: Cursor, at: number): IfBlock {
    const branches: { test: Expression; body: readonly Block[] }[] = [];
    let head = cursor;
    for (;;) {
      const test = this.#expression(head);
      this.#close(head, '%}');
      const { blocks, ending } = this.#body(['elif', 'else', 'endif']);
      branches.push({ test, body: blocks });
      if (ending?.word === 'elif') {
        head = ending.cursor;
        continue;
      }
      return { kind: 'if', branches, otherwise: this.#otherwise(ending, 'endif', at) };
    }
  }

  /** What follows the first body: `{% else %}` and its own, or nothing. */
  #otherwise(ending: Ending | undefined, close: string, at: number): readonly Block[] {
    if (ending?.word !== 'else') {
      this.#end(ending, close, at);
      return [];
    }
    this.#close(ending.cursor, '%}');
    const { blocks, ending: last } = this.#body([close]);
    this.#end(last, close, at);
    return blocks;
  }

  #end(ending: Ending | undefined, close: string, at: number): void {
    if (ending === undefined) throw new ExpressionError(`this is not closed: expected {% ${close} %}`, at);
    if (ending.word !== close) throw new ExpressionError(`expected {% ${close} %}, found "${ending.word}"`, ending.at);
    this.#close(ending.cursor, '%}');
  }

  #for(cursor: Cursor, at: number): ForBlock {
    const names = this.#names(cursor);
    if (!cursor.takeWord('in')) throw cursor.unexpected('"in"');
    // The `if` of a loop would otherwise be taken for that of a choice.
    const whole = this.#expression(cursor);
    const [of, test] = whole.kind === 'choice' && whole.no === undefined ? [whole.yes, whole.test] : [whole, undefined];
    this.#close(cursor, '%}');
    const { blocks: body, ending } = this.#body(['else', 'endfor']);
    return { kind: 'for', names, of, test, body, otherwise: this.#otherwise(ending, 'endfor', at), at };
  }

  #names(cursor: Cursor): readonly string[] {
    const bracketed = cursor.takeSign('(');
    const names = [cursor.expectName().text];
    while (cursor.takeSign(',')) names.push(cursor.expectName().text);
    if (bracketed) cursor.expectSign(')');
    return names;
  }

  #set(cursor: Cursor, at: number): SetBlock {
    const names = this.#names(cursor);
    const field = names.length === 1 && cursor.takeSign('.') ? cursor.expectName().text : undefined;
    if (cursor.takeSign('=')) {
      const value = this.#expression(cursor);
      this.#close(cursor, '%}');
      return { kind: 'set', names, field, value, at };
    }
    this.#close(cursor, '%}');
    const { blocks, ending } = this.#body(['endset']);
    this.#end(ending, 'endset', at);
    return { kind: 'set', names, field, value: blocks, at };
  }

  #with(cursor: Cursor, at: number): WithBlock {
    const entries: (readonly [string, Expression])[] = [];
    while (cursor.token.kind === 'name') {
      const { text: name } = cursor.expectName();
      cursor.expectSign('=');
      entries.push([name, this.#expression(cursor)]);
      if (!cursor.takeSign(',')) break;
    }
    this.#close(cursor, '%}');
    const { blocks, ending } = this.#body(['endwith']);
    this.#end(ending, 'endwith', at);
    return { kind: 'with', entries, body: blocks };
  }
}

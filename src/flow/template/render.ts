import type { Expression } from '../expression/ast.ts';
import type { Budget } from '../expression/budget.ts';
import { evaluate } from '../expression/evaluate.ts';
import { ExpressionError } from '../expression/expression-error.ts';
import { library } from '../expression/library/library.ts';
import { pythonSemantics } from '../expression/python-semantics.ts';
import type { Scope } from '../expression/scope.ts';
import { textOf } from '../expression/text.ts';
import {
  isList,
  isMap,
  isTrue,
  itemsOf,
  kindOf,
  mapOf,
  type Value,
  type ValueMap,
  withValue,
} from '../expression/values.ts';
import type { Block, ForBlock, SetBlock, WithBlock } from './blocks.ts';

/** The text of a template. */
export function renderBlocks(blocks: readonly Block[], scope: Scope, budget: Budget): string {
  const renderer = new Renderer(budget);
  renderer.all(blocks, new Frame(scope));
  return renderer.text;
}

/** The value of an expression of a template, of its own type. */
export function evaluateIn(value: Expression, scope: Scope, budget: Budget): Value {
  return evaluate(value, { scope, budget, library, semantics: pythonSemantics, lenient: true });
}

/** What `set` has named within a template or one turn of a loop. */
class Frame implements Scope {
  readonly #set = new Map<string, Value>();
  /** Names whose fields may be set, also from within a loop. */
  readonly #spaces = new Set<string>();
  readonly #outer: Scope;

  constructor(outer: Scope) {
    this.#outer = outer;
  }

  get(name: string): Value {
    return this.#set.has(name) ? this.#set.get(name) : this.#outer.get(name);
  }

  has(name: string): boolean {
    return this.#set.has(name) || this.#outer.has(name);
  }

  names(): readonly string[] {
    return [...new Set([...this.#set.keys(), ...this.#outer.names()])];
  }

  put(name: string, value: Value, isSpace = false): void {
    this.#set.set(name, value);
    if (isSpace) this.#spaces.add(name);
    else this.#spaces.delete(name);
  }

  /** False: there is no namespace of this name. */
  putField(name: string, field: string, value: Value): boolean {
    if (!this.#set.has(name)) return this.#outer instanceof Frame && this.#outer.putField(name, field, value);
    if (!this.#spaces.has(name)) return false;
    this.#set.set(name, withValue(this.#set.get(name) as ValueMap, field, value));
    return true;
  }
}

class Renderer {
  readonly #budget: Budget;
  readonly #parts: string[] = [];

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get text(): string {
    return this.#parts.join('');
  }

  all(blocks: readonly Block[], frame: Frame): void {
    for (const block of blocks) this.#block(block, frame);
  }

  #block(block: Block, frame: Frame): void {
    const budget = this.#budget;
    if (block.kind === 'text') {
      budget.step(0);
      budget.grow(0, block.text.length);
      this.#parts.push(block.text);
    } else if (block.kind === 'print') {
      this.#parts.push(textOf(evaluateIn(block.value, frame, budget), budget, block.value.at));
    } else if (block.kind === 'if') {
      const branch = block.branches.find(({ test }) => isTrue(evaluateIn(test, frame, budget), budget, test.at));
      this.all(branch?.body ?? block.otherwise, frame);
    } else if (block.kind === 'for') this.#loop(block, frame);
    else if (block.kind === 'with') this.#with(block, frame);
    else this.#set(block, frame);
  }

  #loop({ names, of, test, body, otherwise, at }: ForBlock, frame: Frame): void {
    const budget = this.#budget;
    const all = itemsOf(evaluateIn(of, frame, budget), budget, at);
    const frames = all.map((item) => {
      const inner = new Frame(frame);
      for (const [name, value] of unpacked(names, item, at)) inner.put(name, value);
      return { item, inner };
    });
    const chosen =
      test === undefined
        ? frames
        : frames.filter(({ inner }) => isTrue(evaluateIn(test, inner, budget), budget, test.at));
    if (chosen.length === 0) this.all(otherwise, frame);
    const items = chosen.map(({ item }) => item);
    for (const [i, { inner }] of chosen.entries()) {
      budget.step(at);
      inner.put('loop', loopOf(items, i));
      this.all(body, inner);
    }
  }

  #set({ names, field, value, at }: SetBlock, frame: Frame): void {
    const budget = this.#budget;
    const given = isBlocks(value) ? renderBlocks(value, frame, budget) : evaluateIn(value, frame, budget);
    if (field !== undefined) {
      const name = names[0] as string;
      const before = frame.get(name);
      // Each is a new map: values are never written to.
      if (isMap(before)) budget.step(at, Object.keys(before).length);
      if (frame.putField(name, field, given)) return;
      throw new ExpressionError(`"${name}" is no namespace(…) of this template: its fields cannot be set`, at);
    }
    const isSpace = !isBlocks(value) && value.kind === 'call' && value.name === 'namespace';
    for (const [name, one] of unpacked(names, given, at)) frame.put(name, one, isSpace && isMap(one));
  }

  #with({ entries, body }: WithBlock, frame: Frame): void {
    const inner = new Frame(frame);
    for (const [name, value] of entries) inner.put(name, evaluateIn(value, frame, this.#budget));
    this.all(body, inner);
  }
}

const isBlocks = (value: Expression | readonly Block[]): value is readonly Block[] => Array.isArray(value);

function unpacked(names: readonly string[], value: Value, at: number): readonly (readonly [string, Value])[] {
  if (names.length === 1) return [[names[0] as string, value]];
  if (isList(value) && value.length === names.length) return names.map((name, i) => [name, value[i]]);
  const found = isList(value) ? `a list of ${value.length}` : kindOf(value);
  throw new ExpressionError(`expected a list of ${names.length} for ${names.join(', ')}, found ${found}`, at);
}

function loopOf(items: readonly Value[], i: number): ValueMap {
  const { length } = items;
  return mapOf([
    ['index', i + 1],
    ['index0', i],
    ['revindex', length - i],
    ['revindex0', length - i - 1],
    ['first', i === 0],
    ['last', i === length - 1],
    ['length', length],
    ['previtem', items[i - 1]],
    ['nextitem', items[i + 1]],
  ]);
}

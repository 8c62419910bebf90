/** Readers of the fields of a machine. What has the wrong form is a problem, and is read as if it were not there. */
import { suggest } from '../../core/suggest.ts';
import { describe, ExpressionError } from '../expression/expression-error.ts';
import { isList, isMap, kindOf, type Value, type ValueMap } from '../expression/values.ts';
import { type ValueTemplate, valueTemplateOf } from '../template/value-template.ts';
import type { Entries } from './definition.ts';
import type { Path, Problems } from './problems.ts';

export class Fields {
  readonly #values: ValueMap;
  readonly #path: Path;
  readonly #problems: Problems;

  constructor(values: ValueMap, path: Path, problems: Problems) {
    this.#values = values;
    this.#path = path;
    this.#problems = problems;
  }

  pathOf(name: string): Path {
    return [...this.#path, name];
  }

  value(name: string): Value {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    return this.#wrong(name, 'a text', value);
  }

  /** A text that is empty says nothing, as in the original. */
  name(name: string): string | undefined {
    const text = this.text(name);
    return text === '' ? undefined : text;
  }

  /** A template that is empty says nothing. */
  filled(name: string): ValueTemplate | undefined {
    return this.value(name) === '' ? undefined : this.template(name);
  }

  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'number') return value;
    return this.#wrong(name, 'a number', value);
  }

  map(name: string): ValueMap {
    const value = this.value(name);
    if (value === undefined) return {};
    if (isMap(value)) return value;
    this.#wrong(name, 'a map', value);
    return {};
  }

  /** One text, or a list of them. */
  texts(name: string): readonly string[] {
    const value = this.value(name);
    if (value === undefined) return [];
    const all = isList(value) ? value : [value];
    return all.flatMap((one, i) => {
      if (typeof one === 'string') return [one];
      this.#problems.error(
        [...this.pathOf(name), ...(isList(value) ? [i] : [])],
        `expected a name, found ${kindOf(one)}`,
      );
      return [];
    });
  }

  oneOf<const T extends string>(name: string, words: readonly T[], otherwise: T): T {
    const value = this.value(name);
    if (value === undefined) return otherwise;
    const found = words.find((word) => word === value);
    if (found === undefined) {
      const said = words.filter((word) => word !== '');
      this.#problems.warning(this.pathOf(name), `expected ${said.join(' or ')}`);
    }
    return found ?? otherwise;
  }

  template(name: string): ValueTemplate | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : this.#templateOf(value, this.pathOf(name));
  }

  /** A map in which only texts with `{{ }}` or `{% %}` are templates: any word may be a value. Undefined: it has none. */
  marked(name: string): ValueTemplate | undefined {
    const value = markedOnly(this.map(name), this.pathOf(name), (text, path) => this.#templateOf(text, path));
    return value.kind === 'constant' ? undefined : value;
  }

  /** A map whose values are templates, in the order of the file. */
  entries(name: string): Entries {
    return Object.entries(this.map(name)).map(([key, value]) => [
      key,
      this.#templateOf(value, [...this.pathOf(name), key]),
    ]);
  }

  /** Names that nobody knows. */
  known(names: ReadonlySet<string>): void {
    for (const name of Object.keys(this.#values)) {
      if (!names.has(name))
        this.#problems.warning(this.pathOf(name), `there is no field "${name}"${meant(name, names)}`);
    }
  }

  #templateOf(value: Value, path: Path): ValueTemplate {
    return valueTemplateOf(value, (inner, source, error) => {
      this.#problems.error([...path, ...inner], sayWrong(source, error));
    });
  }

  #wrong(name: string, expected: string, found: Value): undefined {
    this.#problems.error(this.pathOf(name), `expected ${expected}, found ${kindOf(found)}`);
    return undefined;
  }
}

function markedOnly(value: Value, path: Path, read: (text: Value, path: Path) => ValueTemplate): ValueTemplate {
  if (typeof value === 'string') return /\{[{%]/.test(value) ? read(value, path) : { kind: 'constant', value };
  if (isList(value)) {
    const items = value.map((item, i) => markedOnly(item, [...path, i], read));
    return items.every(({ kind }) => kind === 'constant') ? { kind: 'constant', value } : { kind: 'list', items };
  }
  if (!isMap(value)) return { kind: 'constant', value };
  const entries = Object.entries(value).map(([key, item]) => [key, markedOnly(item, [...path, key], read)] as const);
  return entries.every(([, { kind }]) => kind === 'constant') ? { kind: 'constant', value } : { kind: 'map', entries };
}

/** For a word that is none of these. */
export function meant(word: string, words: Iterable<string>): string {
  const near = suggest(word, words);
  return near === undefined ? '' : `: did you mean "${near}"?`;
}

export function sayWrong(source: string, error: unknown): string {
  if (error instanceof ExpressionError) return describe(error, source);
  throw error;
}

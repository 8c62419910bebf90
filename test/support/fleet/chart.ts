/**
 * Renders the templates of a Helm chart that stay within a small part of that language: `if`, `range`, pipes, `printf`, `quote`, `default`, `toYaml`,
 * `nindent`. It is no Helm: what it renders shows that the templates are right where they are this plain, and anything else it refuses.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

type Scope = Readonly<Record<string, unknown>>;

export interface Release {
  readonly name: string;
  readonly namespace: string;
}

/** All templates of a chart as one text, with some of its values changed. */
export function renderChart(folder: string, release: Release, changed: Scope = {}): string {
  const read = (path: string): unknown => parse(readFileSync(join(folder, path), 'utf8'));
  const chart = read('Chart.yaml') as Scope;
  const scope = {
    Values: merged(read('values.yaml') as Scope, changed),
    Release: { Name: release.name, Namespace: release.namespace },
    Chart: { AppVersion: chart['appVersion'], Version: chart['version'] },
  };
  const templates = globSync('templates/*.yaml', { cwd: folder }).toSorted();
  return templates.map((file) => render(readFileSync(join(folder, file), 'utf8'), scope)).join('\n---\n');
}

export function render(template: string, scope: Scope): string {
  const parts = partsOf(template);
  const tree = treeOf(parts);
  if (parts.length > 0) throw new Error('there is an "end" without a beginning');
  return textOf(tree, scope, scope);
}

interface Part {
  readonly text: string;
  readonly action: boolean;
}

/** A text, something to evaluate, or a block up to its `end`. */
type Node =
  | string
  | { readonly says: string }
  | { readonly word: string; readonly of: string; readonly body: readonly Node[] };

function partsOf(template: string): Part[] {
  const parts: Part[] = [];
  let trim = false;
  for (const piece of template.split(/(\{\{.*?\}\})/s)) {
    const action = /^\{\{(-)?\s*(.*?)\s*(-)?\}\}$/s.exec(piece);
    const last = parts.at(-1);
    if (action === null) parts.push({ text: trim ? piece.trimStart() : piece, action: false });
    else {
      if (action[1] !== undefined && last !== undefined && !last.action)
        parts.splice(-1, 1, { ...last, text: last.text.trimEnd() });
      parts.push({ text: action[2] ?? '', action: true });
      trim = action[3] !== undefined;
    }
  }
  return parts;
}

function treeOf(parts: Part[]): readonly Node[] {
  const nodes: Node[] = [];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const [, word, of = ''] = (part.action && /^(if|range|end)\b\s*(.*)$/s.exec(part.text)) || [];
    if (word === 'end') return nodes;
    if (word !== undefined) nodes.push({ word, of, body: treeOf(parts) });
    else nodes.push(part.action ? { says: part.text } : part.text);
  }
  return nodes;
}

function textOf(nodes: readonly Node[], dot: unknown, root: Scope): string {
  const texts = nodes.map((node) => {
    if (typeof node === 'string') return node;
    if ('says' in node) return String(evaluate(node.says, dot, root));
    const value = evaluate(node.of, dot, root);
    const dots = node.word === 'range' ? (value as readonly unknown[]) : isTrue(value) ? [dot] : [];
    return dots.map((one) => textOf(node.body, one, root)).join('');
  });
  return texts.join('');
}

/** Terms with pipes between them; what comes before a pipe is the last argument of what follows it. */
function evaluate(text: string, dot: unknown, root: Scope): unknown {
  let value: unknown;
  for (const [i, stage] of split(text, '|').entries()) {
    const [first = '', ...rest] = split(stage, ' ');
    const terms = [...rest.map((term) => valueOf(term, dot, root)), ...(i === 0 ? [] : [value])];
    const call = FUNCTIONS[first];
    value = call === undefined ? valueOf(first, dot, root) : call(...terms);
  }
  return value;
}

const FUNCTIONS: Readonly<Record<string, (...given: unknown[]) => unknown>> = {
  quote: (value) => JSON.stringify(String(value)),
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  printf: (format, ...values) => String(format).replace(/%s/g, () => String(values.shift())),
  toYaml: (value) => stringify(value).trimEnd(),
  nindent: (count, text) => `\n${String(text).replace(/^/gm, ' '.repeat(Number(count)))}`,
};

function valueOf(term: string, dot: unknown, root: Scope): unknown {
  if (term.startsWith('(')) return evaluate(term.slice(1, -1), dot, root);
  if (term.startsWith('"')) return JSON.parse(term);
  if (/^\d+$/.test(term)) return Number(term);
  if (term === '.') return dot;
  if (!/^(\.\w+)+$/.test(term)) throw new Error(`"${term}" is not rendered here`);
  const value = term
    .slice(1)
    .split('.')
    .reduce<unknown>((from, key) => (from as Scope | undefined)?.[key], dot);
  if (value === undefined) throw new Error(`${term} has no value`);
  return value;
}

/** At the separators that are neither in quotes nor in parentheses. */
function split(text: string, separator: string): readonly string[] {
  const found = text.match(separator === '|' ? /(?:"[^"]*"|\([^)]*\)|[^|"(])+/g : /(?:"[^"]*"|\([^)]*\)|[^ "(])+/g);
  return (found ?? []).map((one) => one.trim()).filter((one) => one !== '');
}

function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '' && value !== 0;
}

function merged(base: Scope, changed: Scope): Scope {
  const entries = Object.entries(changed).map(([key, value]) => {
    const old = base[key];
    const both = [old, value].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
    return [key, both ? merged(old as Scope, value as Scope) : value];
  });
  return { ...base, ...Object.fromEntries(entries) };
}

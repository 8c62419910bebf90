/** The text of a machine, in YAML or JSON, which may come from anybody. */
import {
  type Document,
  isAlias,
  isCollection,
  isNode,
  isScalar,
  LineCounter,
  type ParsedNode,
  parseDocument,
  visit,
} from 'yaml';
import { fault } from '../../../core/errors.ts';
import { depthOf, MOST_DEPTH } from './depth.ts';
import { parseJson } from './json-text.ts';
import { type MachineText, wrong } from './parsed-text.ts';

/** Of YAML, whose parser takes about a second for a megabyte. */
const MOST_YAML = 256 * 1024;
/** Of JSON: a graph of 10,000 nodes. */
export const MOST_BYTES = 4 * 1024 * 1024;
/** Brackets that may stand open in the text: far more than a machine has, and few enough for the parser to go into. */
const MOST_OPEN = 500;
/** One anchor may be used so often, all in all: a bomb uses few of them very often. */
const MOST_ALIASES = 50;

/** Throws `INVALID_INPUT` with the line for what is no YAML of ours: bombs, tags, keys that are there twice. */
export function parseMachineText(text: string, name: string): MachineText {
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) throw fault('TOO_LARGE', { field: name, maxBytes: MOST_BYTES });
  refuseDeep(text, name);
  const json = parseJson(text, name);
  if (json !== undefined) return json;
  if (bytes > MOST_YAML) {
    const hint = `JSON may have ${MOST_BYTES} bytes. This is YAML, or JSON with a mistake.`;
    throw fault('TOO_LARGE', { field: name, maxBytes: MOST_YAML }, { hint });
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'core',
    version: '1.2',
    // As PyYAML reads it: `<<: *base` puts the entries of another map in. What the aliases may cost is bounded below.
    merge: true,
    // Looked at below, with a set: the parser compares each key with every other.
    uniqueKeys: false,
    strict: true,
    prettyErrors: false,
    lineCounter: lines,
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const { line, col } = lines.linePos(problem.pos[0]);
    throw wrong(name, `column ${col}: ${OWN_WORDS.get(problem.code) ?? problem.message}`, line);
  }
  const odd = oddNode(document);
  if (odd !== undefined) throw wrong(name, odd.problem, lines.linePos(odd.at).line);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    throw wrong(name, error instanceof Error ? error.message : String(error), 1);
  }
  if (depthOf(value) > MOST_DEPTH) throw wrong(name, `it is nested more than ${MOST_DEPTH} deep`, 1);
  const lineOf = (path: readonly (string | number)[]): number | undefined => {
    for (let length = path.length; length >= 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as ParsedNode | undefined;
      if (node?.range != null && !isAlias(node)) return lines.linePos(node.range[0]).line;
    }
    return undefined;
  };
  return { value, lineOf };
}

/** Where the parser speaks to programmers. */
const OWN_WORDS: ReadonlyMap<string, string> = new Map([
  ['MULTIPLE_DOCS', 'a file has one machine: there is another document behind "---"'],
  ['TAB_AS_INDENT', 'lines are indented by spaces, not by tabs'],
]);

/** YAML can say more than JSON: sets, bytes, times, numbers without end, maps as keys. A machine has none of them. */
function oddNode(document: Document): { readonly problem: string; readonly at: number } | undefined {
  let odd: { readonly problem: string; readonly at: number } | undefined;
  const found = (problem: string, node: unknown): symbol => {
    const range = isNode(node) ? node.range : undefined;
    odd = { problem, at: range?.[0] ?? 0 };
    return visit.BREAK;
  };
  visit(document, {
    Map: (_, node) => {
      const { items, tag } = node;
      if (tag !== undefined && !PLAIN_TAGS.has(tag)) return found(`Unresolved tag: ${tag}`, node);
      const keys = new Set<unknown>();
      const twice = items.find(({ key }) => {
        const name = isScalar(key) ? String(key.value) : key;
        return name !== '<<' && keys.size === keys.add(name).size;
      });
      return twice === undefined ? undefined : found('Map keys must be unique', twice.key);
    },
    Pair: (_, { key }) => (isCollection(key) ? found('a key is a text, not a list or a map', key) : undefined),
    Node: (_, node) => {
      if (node.tag !== undefined && !PLAIN_TAGS.has(node.tag)) return found(`Unresolved tag: ${node.tag}`, node);
      if (!isScalar(node) || typeof node.value !== 'number' || Number.isFinite(node.value)) return undefined;
      return found(`${String(node.source ?? node.value)} is no number that JSON can say`, node);
    },
  });
  return odd;
}

/** What JSON has, when somebody writes it out. */
const PLAIN_TAGS = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((one) => `tag:yaml.org,2002:${one}`),
);

/** Before it is parsed: the parser goes into each bracket and each dash with a call of its own. */
function refuseDeep(text: string, name: string): void {
  let open = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '[' || char === '{') open++;
    else if ((char === ']' || char === '}') && open > 0) open--;
    if (open > MOST_OPEN) throw wrong(name, `it is nested more than ${MOST_DEPTH} deep`, 1);
  }
  if (new RegExp(`^[ ]*(?:[-?] +){${MOST_DEPTH},}`, 'm').test(text)) {
    throw wrong(name, `it is nested more than ${MOST_DEPTH} deep`, 1);
  }
}

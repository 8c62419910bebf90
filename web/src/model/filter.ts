/** The filter of a list of tasks: its address, its request, its words. */

import { TASK_STATES, type TaskState } from './task-states.ts';

/** Which tasks a list shows. An empty part matches everything. */
export interface TaskFilter {
  readonly state: readonly TaskState[];
  readonly queue: readonly string[];
  readonly handler: readonly string[];
  /** Created at this time or later; calendar milliseconds. */
  readonly from?: number;
  /** Created before this time. */
  readonly until?: number;
  /** Created within this time before now. A brush in the histogram replaces it by two fixed times. */
  readonly last?: string;
}

export const NO_FILTER: TaskFilter = { state: [], queue: [], handler: [] };

/** The choices for `last`, with their lengths. */
export const SPANS: Readonly<Record<string, number>> = {
  '15m': 900_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
  '30d': 2_592_000_000,
};

/** The most names of one kind in a filter. */
const MAX_NAMES = 50;

/** The filter of an address. Anybody may have written the address: parts that make no sense are left out. */
export function filterOfQuery(query: string): TaskFilter {
  const search = new URLSearchParams(query);
  const time = (name: string): number | undefined => {
    const text = search.get(name) ?? '';
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  const [from, until, last] = [time('from'), time('until'), search.get('last') ?? ''];
  return {
    state: [...new Set(search.getAll('state'))].filter((text): text is TaskState =>
      TASK_STATES.includes(text as TaskState),
    ),
    queue: named(search.getAll('queue')),
    handler: named(search.getAll('handler')),
    ...(from === undefined ? {} : { from }),
    ...(until === undefined ? {} : { until }),
    ...(from === undefined && until === undefined && Object.hasOwn(SPANS, last) ? { last } : {}),
  };
}

const named = (texts: readonly string[]): readonly string[] =>
  [...new Set(texts)].filter((text) => text !== '').slice(0, MAX_NAMES);

/** The query of an address. A filter has exactly one. */
export function queryOfFilter(filter: TaskFilter): string {
  const search = new URLSearchParams();
  for (const name of ['state', 'queue', 'handler'] as const)
    for (const value of filter[name]) search.append(name, value);
  for (const name of ['from', 'until', 'last'] as const) {
    if (filter[name] !== undefined) search.set(name, String(filter[name]));
  }
  return search.toString();
}

/** The filter as the server takes it; `last` counts back from now. */
export function requestOf(filter: TaskFilter, now: number) {
  const { last } = filter;
  const from = filter.from ?? (last === undefined ? undefined : now - (SPANS[last] ?? 0));
  return {
    ...(filter.state.length > 0 ? { state: [...filter.state] } : {}),
    ...(filter.queue.length > 0 ? { queue: [...filter.queue] } : {}),
    ...(filter.handler.length > 0 ? { handler: [...filter.handler] } : {}),
    ...(from === undefined ? {} : { from }),
    ...(filter.until === undefined ? {} : { until: filter.until }),
  };
}

/** The filter in words, for a dialog that acts on all matching tasks. */
export function filterText(filter: TaskFilter, say: (at: number) => string = String): string {
  const parts = [
    ...(['state', 'queue', 'handler'] as const).flatMap((name) =>
      filter[name].length === 0 ? [] : [`${name} = ${filter[name].join(' or ')}`],
    ),
    ...(filter.from === undefined ? [] : [`created from ${say(filter.from)}`]),
    ...(filter.until === undefined ? [] : [`created before ${say(filter.until)}`]),
    ...(filter.last === undefined ? [] : [`created in the last ${filter.last}`]),
  ];
  return parts.length === 0 ? 'every task' : parts.join(', ');
}

export function matches(
  filter: TaskFilter,
  task: { readonly state: string; readonly queue: string; readonly handler?: string; readonly createdAt?: number },
): boolean {
  const { state, queue, handler, from, until } = filter;
  if (state.length > 0 && !state.includes(task.state as TaskState)) return false;
  if (queue.length > 0 && !queue.includes(task.queue)) return false;
  if (handler.length > 0 && task.handler !== undefined && !handler.includes(task.handler)) return false;
  if (task.createdAt === undefined) return true;
  return (from === undefined || task.createdAt >= from) && (until === undefined || task.createdAt < until);
}

/** One value of a filter. */
export interface FilterPart {
  readonly name: 'state' | 'queue' | 'handler' | 'last';
  readonly value: string;
}

/**
 * What was typed. `filter`: every word is understood. `text`: one word that may become something. `unknown`: some words mean nothing,
 * and nothing of it may be used.
 */
export type Typed =
  | { readonly kind: 'filter'; readonly parts: readonly FilterPart[] }
  | { readonly kind: 'task'; readonly id: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unknown'; readonly words: readonly string[] };

/** The names that exist. */
export interface KnownNames {
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
}

/** The words of a text: `state : failed` is one word, as it is meant. */
export function wordsOf(text: string): readonly string[] {
  return text
    .trim()
    .replace(/\b(state|queue|handler|last)\s*[:=]\s*/gi, '$1:')
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** Words are `queue:mail`, `handler:echo`, `state:failed`, `last:1h`, a state, or the whole name of a queue or a handler. */
export function parseTyped(text: string, known: KnownNames = { queues: [], handlers: [] }): Typed {
  const words = wordsOf(text);
  const [only = ''] = words;
  if (words.length === 1 && /^task_[0-9a-f-]{36}$/i.test(only)) return { kind: 'task', id: only };
  const parts = words.map((word) => partOf(word, known));
  if (words.length < 2 && !only.includes(':') && parts[0] === undefined) return { kind: 'text', text: only };
  const unknown = words.filter((_, i) => parts[i] === undefined);
  if (unknown.length > 0) return { kind: 'unknown', words: unknown };
  return { kind: 'filter', parts: parts.filter((part) => part !== undefined) };
}

/** What a word means; undefined: nothing. */
export function partOf(word: string, { queues, handlers }: KnownNames): FilterPart | undefined {
  const [, name, value = ''] = /^(state|queue|handler|last):(.+)$/is.exec(word) ?? [];
  if (name !== undefined) {
    const part = { name: name.toLowerCase() as FilterPart['name'], value };
    if (part.name === 'state') return isState(value) ? { name: 'state', value: value.toLowerCase() } : undefined;
    return part.name !== 'last' || Object.hasOwn(SPANS, value) ? part : undefined;
  }
  if (isState(word)) return { name: 'state', value: word.toLowerCase() };
  if (queues.includes(word)) return { name: 'queue', value: word };
  return handlers.includes(word) ? { name: 'handler', value: word } : undefined;
}

const isState = (word: string): boolean => TASK_STATES.includes(word.toLowerCase() as TaskState);

/** Says what was not understood, and what would be. */
export function problemOf(words: readonly string[]): string {
  const named = words.map((word) => `“${word}”`).join(', ');
  return `${named} ${words.length === 1 ? 'is' : 'are'} not understood. Write a state (failed), queue:NAME, handler:NAME or last:1h, with a space between them.`;
}

/** The filter with these values in addition. */
export function withParts(filter: TaskFilter, parts: readonly FilterPart[]): TaskFilter {
  let next = filter;
  for (const { name, value } of parts) {
    if (name === 'last') {
      const { from: _, until: __, ...rest } = next;
      next = { ...rest, last: value };
    } else if (!(next[name] as readonly string[]).includes(value)) next = toggled(next, name, value);
  }
  return next;
}

/**
 * The parts of an address that make no sense. A list without them would show other tasks than the address asks for, so that none is
 * shown.
 */
export function unknownInQuery(query: string): readonly string[] {
  const search = new URLSearchParams(query);
  const isFixed = search.has('from') || search.has('until');
  return [...search]
    .filter(([name, value]) => {
      if (name === 'state') return !TASK_STATES.includes(value as TaskState);
      if (name === 'queue' || name === 'handler') return value === '' || new Set(search.getAll(name)).size > MAX_NAMES;
      // Of two times only one would count.
      if (search.getAll(name).length > 1) return true;
      if (name === 'from' || name === 'until') return !/^\d{1,15}$/.test(value);
      return name !== 'last' || isFixed || !Object.hasOwn(SPANS, value);
    })
    .map(([name, value]) => `${name}=${value}`.slice(0, 100));
}

/** Names what is done to which tasks: "Run 12 failed tasks of queue send-mail again". */
export function actionName(
  kind: 'retry' | 'cancel',
  count: number,
  filter: TaskFilter | undefined,
  say: (at: number) => string = String,
): string {
  const tasks = count === 1 ? 'task' : 'tasks';
  const what = filter === undefined ? `selected ${tasks}` : described(kind, tasks, filter, say);
  const n = count.toLocaleString('en');
  return kind === 'retry' ? `Run ${n} ${what} again` : `Cancel ${n} ${what}`;
}

function described(kind: 'retry' | 'cancel', tasks: string, filter: TaskFilter, say: (at: number) => string): string {
  const states = filter.state.length > 0 ? filter.state.join(' or ') : kind === 'retry' ? 'finished' : 'unfinished';
  const of = (name: 'queue' | 'handler', before: string): string =>
    filter[name].length === 0 ? '' : ` ${before} ${name} ${filter[name].join(' or ')}`;
  const times = [
    filter.last === undefined ? '' : ` created in the last ${filter.last}`,
    filter.from === undefined ? '' : ` created from ${say(filter.from)}`,
    filter.until === undefined ? '' : ` created before ${say(filter.until)}`,
  ];
  return `${states} ${tasks}${of('queue', 'of')}${of('handler', 'with')}${times.join('')}`;
}

/** Adds a value, or removes it if it was there. */
export function toggled(filter: TaskFilter, name: 'state' | 'queue' | 'handler', value: string): TaskFilter {
  const values = filter[name] as readonly string[];
  return { ...filter, [name]: values.includes(value) ? values.filter((one) => one !== value) : [...values, value] };
}

export function isEmptyFilter(filter: TaskFilter): boolean {
  return queryOfFilter(filter) === '';
}

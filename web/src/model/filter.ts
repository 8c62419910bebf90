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
  [...new Set(texts)].filter((text) => text !== '').slice(0, 50);

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

/** What was typed: `queue:mail`, `state:failed`, `handler:echo`, an id, or the beginning of a value. */
export type Typed =
  | { readonly kind: 'filter'; readonly name: 'state' | 'queue' | 'handler'; readonly value: string }
  | { readonly kind: 'task'; readonly id: string }
  | { readonly kind: 'text'; readonly text: string };

export function parseTyped(text: string): Typed {
  const trimmed = text.trim();
  if (/^task_[0-9a-f-]{36}$/i.test(trimmed)) return { kind: 'task', id: trimmed };
  const pair = /^(state|queue|handler)\s*[:=]\s*(.+)$/i.exec(trimmed);
  if (pair === null) return { kind: 'text', text: trimmed };
  return { kind: 'filter', name: (pair[1] as string).toLowerCase() as 'state', value: pair[2] as string };
}

/** Adds a value, or removes it if it was there. */
export function toggled(filter: TaskFilter, name: 'state' | 'queue' | 'handler', value: string): TaskFilter {
  const values = filter[name] as readonly string[];
  return { ...filter, [name]: values.includes(value) ? values.filter((one) => one !== value) : [...values, value] };
}

export function isEmptyFilter(filter: TaskFilter): boolean {
  return queryOfFilter(filter) === '';
}

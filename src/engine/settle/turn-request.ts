import { fault } from '../../core/errors.ts';
import { AFTER_FAILURE, type AfterFailure } from '../../core/graph/graph.ts';
import type { Amount, Metering, Spending } from '../../core/limits/budget.ts';
import { checkKey } from '../../core/names.ts';
import { checkChannel } from '../../core/task/channel.ts';
import type { LogEntry } from '../../core/task/log.ts';
import { encodePayload, entryBounds } from '../../core/task/payload.ts';
import type { ChildEdge, NewChild, NewNotice, NewValue, Park, ValueKind } from '../../store/store.ts';
import { checkFlag, checkList, checkLogEntries, checkOptions, checkTask, MAX_TIME, whole } from '../check.ts';
import type { PushRequest } from '../push/push.ts';
import { checkMetering } from '../trees/budgets.ts';
import type { CompleteOptions, FailOptions } from './settle-options.ts';
import { parkOf, type WaitRequest } from './waits.ts';

/** What an attempt commits in one turn. */
export interface TurnRequest {
  /** No two entries may have the same key. */
  readonly entries?: readonly EntryRequest[];
  /** Lines of the task's log. */
  readonly logs?: readonly LogEntry[];
  /** What the call after this turn may cost, of a turn that goes on. Too little left in the budget of the tree: the task waits for more. */
  readonly draw?: readonly Amount[];
  /** What calls have used since they were drawn for. */
  readonly spend?: readonly Spending[];
  /** Default: the attempt goes on. */
  readonly then?: ThenRequest;
}

export type EntryRequest = ValueRequest | ChildEntryRequest | SignalRequest;

/** Writes a value into the journal; the first value under a key stays. */
export interface ValueRequest {
  readonly key: string;
  readonly kind?: ValueKind;
  /** Any JSON value. */
  readonly value?: unknown;
  /** When the recorded work began: calendar time. */
  readonly began?: number;
  /** What the work used: any JSON value. */
  readonly usage?: unknown;
}

/** Pushes a task that is a child of this one. It has no operation id: a repeat is led to it by the entry. */
export interface ChildEntryRequest {
  readonly key: string;
  readonly kind: 'child';
  readonly child: Omit<PushRequest, 'op' | 'gathers'>;
  /** What must have ended before: children of this task by key, or existing tasks by number. */
  readonly after?: readonly (string | number | ChildDependency)[];
  /** What becomes of it when a dependency has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure;
}

export interface ChildDependency {
  readonly on: string | number;
  /** Only its end is waited for, whatever it is. Default: it must have completed. */
  readonly optional?: boolean;
}

export interface SignalRequest {
  readonly key: string;
  readonly kind: 'signal';
  readonly channel: string;
  /** Any JSON value. */
  readonly body?: unknown;
  /** Wakes all tasks that wait now, and is not kept for later ones. */
  readonly broadcast?: boolean;
}

export type ThenRequest =
  | { readonly go: 'on' }
  | (WaitRequest & { readonly go: 'park' })
  | (CompleteOptions & { readonly go: 'complete'; readonly result?: unknown })
  | (FailOptions & { readonly go: 'fail'; readonly error: unknown });

/** A checked turn. Only the lanes of its children, and the verdict on a failure, are still to be found. */
export interface CheckedTurn extends Metering {
  readonly entries: readonly CheckedEntry[];
  readonly logs: readonly LogEntry[] | undefined;
  readonly then: CheckedThen;
}

export type CheckedEntry = NewValue | NewNotice | (Omit<NewChild, 'task'> & { readonly task: PushRequest });
export type CheckedThen =
  | { readonly go: 'on' }
  | (Park & { readonly go: 'park' })
  | { readonly go: 'complete'; readonly result: unknown }
  | { readonly go: 'fail'; readonly error: unknown; readonly options: FailOptions };

export const MAX_ENTRIES = 1000;
export const MAX_BIRTHS = 500;
export const MAX_SIGNALS = 100;
export const MAX_LINES = 1000;
/** In UTF-16 units, for all values and signals of a turn. */
export const MAX_TURN_LENGTH = 2 * 1024 * 1024;

const TURN: ReadonlySet<string> = new Set(['entries', 'logs', 'draw', 'spend', 'then'] satisfies (keyof TurnRequest)[]);
const VALUE: ReadonlySet<string> = new Set(['key', 'kind', 'value', 'began', 'usage'] satisfies (keyof ValueRequest)[]);
const CHILD: ReadonlySet<string> = new Set([
  'key',
  'kind',
  'child',
  'after',
  'afterFailure',
] satisfies (keyof ChildEntryRequest)[]);
const SIGNAL: ReadonlySet<string> = new Set([
  'key',
  'kind',
  'channel',
  'body',
  'broadcast',
] satisfies (keyof SignalRequest)[]);
const DEPENDENCY: ReadonlySet<string> = new Set(['on', 'optional'] satisfies (keyof ChildDependency)[]);
const VALUE_KINDS: readonly ValueKind[] = ['value', 'element', 'mark', 'wait'];

export function checkTurn(request: TurnRequest): CheckedTurn {
  checkOptions('turn', request, TURN);
  const { entries: given = [], logs, draw, spend, then = { go: 'on' } } = request;
  checkList('entries', given);
  checkCount('entries', given.length, MAX_ENTRIES);
  const entries = given.map(checkEntry);
  const counts = { children: 0, signals: 0, turn: 0 };
  for (const entry of entries) {
    if (entry.kind === 'child') counts.children++;
    else if (entry.kind === 'signal') counts.signals++;
    counts.turn += 'value' in entry ? entry.value.length : 'body' in entry ? entry.body.length : 0;
  }
  checkCount('children', counts.children, MAX_BIRTHS);
  checkCount('signals', counts.signals, MAX_SIGNALS);
  checkCount('turn', counts.turn, MAX_TURN_LENGTH);
  const lines = logs === undefined ? [] : checkLogEntries(logs);
  checkCount('logs', lines.length, MAX_LINES);
  return {
    entries,
    logs: lines.length === 0 ? undefined : lines,
    then: checkThen(then, keysOf(entries)),
    ...checkMetering({ draw, spend }, then.go, entries.length > 0),
  };
}

const ONE: ReadonlySet<string> = new Set();

/** Mostly there is one entry, and nothing to check. */
function keysOf(entries: readonly CheckedEntry[]): ReadonlySet<string> {
  const [only] = entries;
  if (only === undefined || (entries.length === 1 && only.kind !== 'child')) return ONE;
  const keys = new Set(entries.map(({ key }) => key));
  if (keys.size < entries.length) throw refuse('entries', 'two entries have the same key');
  return keys;
}

function checkEntry(entry: EntryRequest): CheckedEntry {
  if (entry?.kind === 'child') return checkChild(entry);
  return entry?.kind === 'signal' ? checkNotice(entry) : checkValue(entry);
}

function checkNotice(entry: SignalRequest): NewNotice {
  checkOptions('entry', entry, SIGNAL);
  checkFlag('broadcast', entry.broadcast);
  return {
    key: checkKey('key', entry.key),
    kind: 'signal',
    channel: checkChannel(entry.channel),
    body: encodePayload(entry.body ?? null, { field: 'signal' }),
    ...(entry.broadcast === undefined ? {} : { broadcast: entry.broadcast }),
  };
}

function checkValue(entry: ValueRequest): NewValue {
  checkOptions('entry', entry, VALUE);
  const { kind = 'value', began, usage } = entry;
  if (!VALUE_KINDS.includes(kind)) throw refuse('kind', `it is one of ${VALUE_KINDS.join(', ')}, child, signal`);
  return {
    key: checkKey('key', entry.key),
    kind,
    value: encodePayload(entry.value ?? null, { field: 'value', ...entryBounds(kind) }),
    ...(began === undefined ? {} : { began: whole('began', began, 0, MAX_TIME) }),
    ...(usage === undefined ? {} : { usage: encodePayload(usage, { field: 'usage' }) }),
  };
}

function checkChild(entry: ChildEntryRequest): CheckedEntry {
  checkOptions('entry', entry, CHILD);
  const { afterFailure, child } = entry;
  if (afterFailure !== undefined && !AFTER_FAILURE.includes(afterFailure)) {
    throw refuse('afterFailure', `it is one of ${AFTER_FAILURE.join(', ')}`);
  }
  if (typeof child !== 'object' || child === null) throw refuse('child', 'it must be an object');
  if ('op' in child) throw refuse('child', 'it takes no operation id: the key of its entry leads a repeat to it');
  const after = entry.after === undefined ? undefined : checkAfter(entry.after);
  return {
    key: checkKey('key', entry.key),
    kind: 'child',
    task: child,
    ...(after === undefined ? {} : { after }),
    ...(afterFailure === undefined ? {} : { afterFailure }),
  };
}

function checkAfter(after: NonNullable<ChildEntryRequest['after']>): readonly ChildEdge[] {
  checkList('after', after);
  return after.map((one) => {
    if (typeof one === 'object') checkOptions('after', one, DEPENDENCY);
    const { on, optional = false } = typeof one === 'object' ? one : { on: one };
    checkFlag('optional', optional);
    if (typeof on === 'number') {
      checkTask(on);
      return { task: on, optional };
    }
    return { child: checkKey('after', on), optional };
  });
}

function checkThen(then: ThenRequest, keys: ReadonlySet<string>): CheckedThen {
  switch (then?.go) {
    case 'on':
      return { go: 'on' };
    case 'park': {
      const { go: _, ...wait } = then;
      const park = parkOf(wait);
      const unknown = park.children?.find((child) => typeof child === 'string' && !keys.has(child));
      if (unknown !== undefined)
        throw refuse('children', `no child of this turn has the key ${JSON.stringify(unknown)}`);
      return { go: 'park', ...park };
    }
    case 'complete':
      return { go: 'complete', result: then.result };
    case 'fail': {
      const { go: _, error, ...options } = then;
      return { go: 'fail', error, options };
    }
    default:
      throw refuse('then', 'go is one of on, park, complete, fail');
  }
}

function checkCount(field: string, count: number, most: number): void {
  if (count > most) throw refuse(field, `a turn may have at most ${most}, and this one has ${count}`);
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

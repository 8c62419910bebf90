import type { AfterFailure } from '../../core/graph/graph.ts';
import type { Amount, Spending } from '../../core/limits/budget.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { LogEntry } from '../../core/task/log.ts';
import type { FinalState, Reason, TaskState } from '../../core/task/task.ts';
import type { StoredSize } from './log-store.ts';
import type { LimitRefusal, NewTask } from './push-store.ts';
import type { ReturnItem, TaskHint } from './settle-store.ts';

/**
 * The part of the port for turns. Each task has a journal of entries by key. A turn adds values, children and signals
 * to it, and says how the attempt goes on.
 */
export interface TurnStore {
  /**
   * Commits one turn for each of these attempts, all of it or nothing. Fenced like a settle.
   *
   * An entry is a receipt: its child or signal is made in the turn that inserts it, and in no other. A turn that is
   * repeated because its answer was lost inserts nothing, and is answered from what is there.
   */
  taskTurn(params: { readonly items: readonly Turn[] }): Promise<readonly TurnAnswer[]>;
  /** The journal of a task, in the order of time; entries of the same millisecond by key. */
  journalList(params: { readonly task: number }): Promise<readonly JournalEntry[]>;
  /**
   * Entries of these tasks without their values, by task in the given order and then by key, in the order of the store.
   * `after`: only those beyond this key of the first task.
   */
  journalHeads(params: {
    readonly tasks: readonly number[];
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalHead[]>;
  /** These entries of one task, in the order of time; keys that are not there are left out. */
  journalEntries(params: { readonly task: number; readonly keys: readonly string[] }): Promise<readonly JournalEntry[]>;
  /** How many entries the journal of a task has, and the bytes of their keys, values and usages in UTF-8. Reads all of it. */
  journalSize(params: { readonly task: number }): Promise<StoredSize>;
}

/** One commit of an attempt. No key is used twice in it. */
export interface Turn extends Lease {
  readonly hint?: TaskHint | undefined;
  readonly entries: readonly NewEntry[];
  readonly logs?: readonly LogEntry[] | undefined;
  /**
   * What the call after this turn may cost, of a turn that goes on: it is reserved in the budget of the tree. If there is too little
   * left, all else of the turn is written, and the task waits for the budget instead of going on. Counted once: a turn whose entries
   * this attempt has written already is a repeat.
   */
  readonly draw?: readonly Amount[] | undefined;
  /** What calls have used since they were drawn for. Counted once, as a draw is. */
  readonly spend?: readonly Spending[] | undefined;
  readonly then: Then;
}

/**
 * What a value is: the result of a step, an element of a list, a mark that something was begun, or the outcome of a
 * wait. The store treats all of them alike.
 */
export type ValueKind = 'value' | 'element' | 'mark' | 'wait';
export type EntryKind = ValueKind | 'child' | 'signal';

export type NewEntry = NewValue | NewChild | NewNotice;

/** Stores a value. The first one under a key stays. */
export interface NewValue {
  readonly key: string;
  readonly kind: ValueKind;
  /** JSON text. */
  readonly value: string;
  /** When the step was begun, in the caller's calendar time. */
  readonly began?: number | undefined;
  /** The resources that it used, as JSON text. */
  readonly usage?: string | undefined;
}

/** Pushes a task whose parent is the task of the turn. An existing task that a unique key leads to keeps its parent. */
export interface NewChild {
  readonly key: string;
  readonly kind: 'child';
  readonly task: NewTask;
  /** What it waits for. */
  readonly after?: readonly ChildEdge[] | undefined;
  readonly afterFailure?: AfterFailure | undefined;
}

export interface ChildEdge {
  /** A task that exists. */
  readonly task?: number | undefined;
  /** Or another child of the same turn, by its key. */
  readonly child?: string | undefined;
  /** Optional: any end of it will do. */
  readonly optional: boolean;
}

/** Sends a signal. */
export interface NewNotice {
  readonly key: string;
  readonly kind: 'signal';
  readonly channel: string;
  /** JSON text. */
  readonly body: string;
  /** Wakes all tasks that wait now, and is not kept. */
  readonly broadcast?: boolean | undefined;
}

/** How the attempt goes on: with its lease, parked without it, ended, or returned. */
export type Then =
  | { readonly go: 'on' }
  | (Park & { readonly go: 'park' })
  | { readonly go: 'end'; readonly to: FinalState; readonly reason: Reason; readonly result?: string | undefined }
  | (Omit<ReturnItem, keyof Lease> & { readonly go: 'back' });

/** What a parked task waits for. Without a channel and children: only its time. */
export interface Park {
  /** Names the wait among those of the task. Its outcome is stored under this key. */
  readonly key: string;
  /** Counts the waits of the attempt. A park that arrives after a later one changes nothing. Default 0. */
  readonly nth?: number | undefined;
  readonly channel?: string | undefined;
  /** JSON text for the people who decide. */
  readonly form?: string | undefined;
  /** Woken by what comes on one of these as well: own channels of the task, each with a key of its own. */
  readonly others?: readonly OtherWait[] | undefined;
  /** Tasks that exist, or children of the same turn by their keys. */
  readonly children?: readonly (number | string)[] | undefined;
  /** Woken after this many of the children have ended; default all. */
  readonly need?: number | undefined;
  /** Woken after this long, whatever happens. */
  readonly timeoutMs?: number | undefined;
}

/** One of several channels that a task waits on at once. */
export interface OtherWait {
  readonly key: string;
  /** One of those whose name says the task: see `ownerOf`. */
  readonly channel: string;
  /** JSON text. */
  readonly form?: string | undefined;
}

/**
 * `lost`: another attempt owns the task, or none does, or a later wait of this attempt has come. `refused`: the entry
 * of that key is impossible. In both cases nothing was written.
 *
 * If the task was asked to stop, values and log lines are still written, but a child, a signal or a wait ends it as
 * `cancelled`.
 */
export type TurnAnswer =
  | { readonly kind: 'lost' }
  | { readonly kind: 'refused'; readonly key: string; readonly why: TurnRefusal }
  | {
      readonly kind: 'done';
      readonly went: TurnOutcome;
      /** JSON text of the signal that woke it. */
      readonly body?: string | undefined;
      /** Of a signal that came on one of the `others`: the key of that one. */
      readonly key?: string | undefined;
      readonly cancelRequested: boolean;
      /** In the order of the entries. */
      readonly entries: readonly EntryAnswer[];
      readonly budget?: BudgetNews | undefined;
    };

/** What a turn that draws or has spent hears of the budget of its tree. */
export interface BudgetNews {
  /** The soft bound of one of its units was reached, by this turn or before. */
  readonly soft?: boolean | undefined;
  /** There was too little left: the task is parked until there is more. */
  readonly waits?: boolean | undefined;
}

/** `woken`: what it would wait for is there already, and it goes on with its lease. */
export type TurnOutcome = 'on' | 'parked' | 'woken' | 'ended' | 'back' | 'cancelled';

export type TurnRefusal =
  /** The task that has its unique key with another input. 0: another child of the same turn has it. */
  | { readonly conflict: number }
  | LimitRefusal
  /** What it should wait for does not exist. */
  | { readonly unknown: number }
  /** What it should wait for waits for this task itself, directly or through others, and nothing else would end that. */
  | { readonly circle: true };

/** `kept`: another value was there before, and stays. `none`: the task has ended instead. */
export type EntryAnswer =
  | { readonly kind: 'stored' | 'none' }
  | { readonly kind: 'kept'; readonly value: string }
  | {
      readonly kind: 'child';
      readonly task: number;
      readonly createdAt: number;
      readonly state: TaskState;
      /** False if the entry or a unique key led to an existing task. */
      readonly fresh: boolean;
    };

export interface JournalEntry {
  readonly key: string;
  readonly kind: EntryKind;
  readonly attempt: number;
  readonly at: number;
  /** JSON text. For a child its creation time, for a signal nothing. */
  readonly value: string | undefined;
  /** The number of the child. */
  readonly ref: number | undefined;
  readonly began: number | undefined;
  readonly usage: string | undefined;
}

/** An entry without its value. */
export interface JournalHead extends Omit<JournalEntry, 'value'> {
  readonly task: number;
  /** Of the value, in bytes of UTF-8. */
  readonly size: number;
  /** How the value begins; undefined where it is so large that reading it costs more than knowing it is worth. */
  readonly head: string | undefined;
}

/** Characters of a value that its head has. */
export const HEAD_LENGTH = 400;
/** Databases read a text whole, whatever part of it is wanted. */
export const MOST_WITH_HEAD = 256 * 1024;

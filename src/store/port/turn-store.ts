import type { AfterFailure } from '../../core/graph/graph.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { LogEntry } from '../../core/task/log.ts';
import type { FinalState, Reason, TaskState } from '../../core/task/task.ts';
import type { LimitRefusal, NewTask } from './push-store.ts';
import type { ReturnItem, TaskHint } from './settle-store.ts';

/**
 * The part of the port for attempts that remember, bear children, send signals and wait. Each task has a journal of entries
 * with names; a turn adds entries to it and says how the attempt goes on.
 */
export interface TurnStore {
  /**
   * Commits a turn of each of these attempts: all that it says, or nothing. Fenced like a settle.
   *
   * An entry is a receipt: what it stands for (a child, a signal) happens in the turn that inserts it, and in no other. A
   * turn that is sent again, because its answer was lost, inserts nothing and is answered from what is there.
   */
  taskTurn(params: { readonly items: readonly Turn[] }): Promise<readonly TurnAnswer[]>;
  /** What the attempts of a task have written, in the order of their times; entries of the same millisecond by key. */
  journalList(params: { readonly task: number }): Promise<readonly JournalEntry[]>;
}

/** One commit of an attempt. No key comes twice in it. */
export interface Turn extends Lease {
  readonly hint?: TaskHint | undefined;
  readonly entries: readonly NewEntry[];
  readonly logs?: readonly LogEntry[] | undefined;
  readonly then: Then;
}

/**
 * What an entry with a value is: the result of a step, an element of a list, a word that something was begun, or the outcome
 * of a wait. The store makes no difference between them; readers do.
 */
export type ValueKind = 'value' | 'element' | 'mark' | 'wait';
export type EntryKind = ValueKind | 'child' | 'signal';

export type NewEntry = NewValue | NewChild | NewNotice;

/** Remembers a value; the first one under a key stays. */
export interface NewValue {
  readonly key: string;
  readonly kind: ValueKind;
  /** JSON text. */
  readonly value: string;
  /** When what it stands for was begun, in calendar time of whoever says so. */
  readonly began?: number | undefined;
  /** What it took, as JSON text. */
  readonly usage?: string | undefined;
}

/** Pushes a task whose parent is the task of the turn. One that a unique key leads to stays whose it was. */
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
  /** Optional: its end is waited for, whatever it is. */
  readonly optional: boolean;
}

/** Sends a signal. */
export interface NewNotice {
  readonly key: string;
  readonly kind: 'signal';
  readonly channel: string;
  /** JSON text. */
  readonly body: string;
  /** Everybody who waits now, and nobody later. */
  readonly broadcast?: boolean | undefined;
}

/** How the attempt goes on: with its lease, waiting without it, ended, or given back. */
export type Then =
  | { readonly go: 'on' }
  | (Park & { readonly go: 'park' })
  | { readonly go: 'end'; readonly to: FinalState; readonly reason: Reason; readonly result?: string | undefined }
  | (Omit<ReturnItem, keyof Lease> & { readonly go: 'back' });

/** What a parked task waits for; without a channel and children it is its time alone. */
export interface Park {
  /** Names the wait among those of the task: its outcome is told under it. */
  readonly key: string;
  /** Counts the waits of the attempt: one that comes after a later one changes nothing. Default 0. */
  readonly nth?: number | undefined;
  readonly channel?: string | undefined;
  /** JSON text that people see. */
  readonly form?: string | undefined;
  /** Tasks that exist, or children of the same turn by their keys. */
  readonly children?: readonly (number | string)[] | undefined;
  /** Woken after so many of the children have ended; default all. */
  readonly need?: number | undefined;
  /** Woken after so long whatever happens. */
  readonly timeoutMs?: number | undefined;
}

/**
 * `lost`: another attempt owns the task, or nobody does; or a later wait of this attempt has come. `refused`: the entry of
 * that key cannot be. Nothing was written in either case.
 *
 * Of a task that was asked to stop, values and lines are written; a birth, a signal or a wait ends it instead, as
 * `cancelled`.
 */
export type TurnAnswer =
  | { readonly kind: 'lost' }
  | { readonly kind: 'refused'; readonly key: string; readonly why: TurnRefusal }
  | {
      readonly kind: 'done';
      readonly went: TurnOutcome;
      /** JSON text of the signal, of one that was woken by it. */
      readonly body?: string | undefined;
      readonly cancelRequested: boolean;
      /** In the order of the entries. */
      readonly entries: readonly EntryAnswer[];
    };

/** `woken`: what it would wait for is there, so that it goes on with its lease. */
export type TurnOutcome = 'on' | 'parked' | 'woken' | 'ended' | 'back' | 'cancelled';

export type TurnRefusal =
  /** The task that has its unique key, with another input; 0: another child of the same turn has it. */
  | { readonly conflict: number }
  | LimitRefusal
  /** What it should wait for does not exist. */
  | { readonly unknown: number };

/** `kept`: another value was there before, and stays. `none`: the task has ended instead. */
export type EntryAnswer =
  | { readonly kind: 'stored' | 'none' }
  | { readonly kind: 'kept'; readonly value: string }
  | {
      readonly kind: 'child';
      readonly task: number;
      readonly createdAt: number;
      readonly state: TaskState;
      /** False when the entry or a unique key led to a task that was there before. */
      readonly fresh: boolean;
    };

export interface JournalEntry {
  readonly key: string;
  readonly kind: EntryKind;
  readonly attempt: number;
  readonly at: number;
  /** JSON text; of a child, when it was made; of a signal nothing. */
  readonly value: string | undefined;
  /** The number of the child. */
  readonly ref: number | undefined;
  readonly began: number | undefined;
  readonly usage: string | undefined;
}

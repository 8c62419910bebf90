import type { Limit, LimitCounter } from '../../core/limits/limit.ts';
import type { EditTerms, LimitEdit } from '../../core/limits/limit-edit.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for limits: counters that change in the same transaction as the tasks that they admit. */
export interface LimitStore {
  /** Makes or changes a limit, for everybody at once. What runs goes on. Answers the revision. */
  limitPut(params: { readonly name: string; readonly limit: Limit; readonly by: string }): Promise<number>;
  /**
   * Changes what the edit names, by the rule of `core/limits/limit-edit.ts`, with the limit locked. No edit is lost,
   * and each has its line in the history. An edit that is refused or changes nothing writes nothing.
   */
  limitEdit(params: LimitEditing): Promise<LimitEdited>;
  /** Removes the bounds. The counters stay, so that the same name can come back. False: there is no such limit. */
  limitRemove(params: { readonly name: string; readonly by: string }): Promise<boolean>;
  limitList(): Promise<readonly LimitRecord[]>;
  /** Who changed what, newest first. */
  limitHistory(params: { readonly name: string; readonly limit: number }): Promise<readonly LimitChange[]>;
  /** The counters of a limit: its total first, then its keys. */
  limitCounters(params: { readonly name: string; readonly limit: number }): Promise<readonly CounterRecord[]>;
  /** Counters by number, as they stand now. */
  counterGet(params: { readonly counters: readonly number[] }): Promise<CounterSnapshot>;
  /** Running tasks that have taken from this counter, oldest first. */
  counterHolders(params: { readonly counter: number; readonly limit: number }): Promise<readonly CounterHolder[]>;
  /** No task of this limit and key starts for this long. False: there is no such counter. */
  counterPause(params: { readonly name: string; readonly key: string; readonly forMs: number }): Promise<boolean>;
  /** Recounts the counters from what runs, repairs them and reports every difference. */
  counterAudit(params: { readonly duty: DutyTerm }): Promise<readonly CounterDrift[]>;
}

export interface LimitEditing extends EditTerms {
  readonly name: string;
  readonly edit: LimitEdit;
  readonly by: string;
}

/** The limit before and after the edit. Both have the same revision if there was nothing to change. */
export interface LimitEdited {
  /** Absent: there was none. */
  readonly before?: LimitVersion;
  readonly after: LimitVersion;
}

export interface LimitVersion {
  readonly limit: Limit;
  readonly revision: number;
  readonly changedAt: number;
  readonly changedBy: string;
}

export interface LimitRecord extends LimitVersion {
  readonly name: string;
  /** What runs in total. */
  readonly active: number;
  /** Ready tasks that take something of it, counted up to 10,000. */
  readonly waiting: number;
}

export interface LimitChange {
  readonly at: number;
  readonly by: string;
  /** Undefined: it was removed, or paused. */
  readonly limit: Limit | undefined;
  /** A task asked to come back later, and others wait with it. */
  readonly paused?: { readonly key: string; readonly forMs: number } | undefined;
}

export interface CounterRecord extends LimitCounter {
  readonly name: string;
  readonly key: string;
}

export interface CounterHolder {
  readonly task: number;
  readonly createdAt: number;
  readonly weight: number;
  readonly holder: number | undefined;
}

export interface CounterSnapshot {
  /** Lease time, which the counters are in. */
  readonly now: number;
  readonly counters: readonly (CounterRecord | undefined)[];
}

export interface CounterDrift {
  readonly name: string;
  readonly key: string;
  readonly counted: number;
  readonly kept: number;
}

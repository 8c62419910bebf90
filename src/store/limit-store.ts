import type { Limit, LimitCounter } from '../core/limits/limit.ts';
import type { EditTerms, LimitEdit } from '../core/limits/limit-edit.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for limits: counters that change in the same transaction as the tasks that they admit. */
export interface LimitStore {
  /** Makes a limit or changes it, for everybody at once; what runs goes on. Answers its revision. */
  limitPut(params: { readonly name: string; readonly limit: Limit; readonly by: string }): Promise<number>;
  /**
   * Changes what the edit names, by the rule of `core/limits/limit-edit.ts` on the limit as it is when nobody else can change it: none of several edits
   * is lost, and each has its line in the history. What is refused, or is so already, writes nothing.
   */
  limitEdit(params: LimitEditing): Promise<LimitEdited>;
  /** Takes the bounds away; its counters go on, so that the same name can come back. False: there is none. */
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
  /** Nothing of this limit and key starts for so long. False: there is no such counter. */
  counterPause(params: { readonly name: string; readonly key: string; readonly forMs: number }): Promise<boolean>;
  /** Recounts the counters from what runs, repairs them and reports every difference. */
  counterAudit(params: { readonly duty: DutyTerm }): Promise<readonly CounterDrift[]>;
}

export interface LimitEditing extends EditTerms {
  readonly name: string;
  readonly edit: LimitEdit;
  readonly by: string;
}

/** What the edit found, and what it left; of the same revision where it had nothing to change. */
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
  /** Of the total. */
  readonly active: number;
  /** Tasks that are ready and take something of it, counted up to 10,000. */
  readonly waiting: number;
}

export interface LimitChange {
  readonly at: number;
  readonly by: string;
  /** Undefined: it was removed. */
  readonly limit: Limit | undefined;
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
  /** Lease time, by which they are judged. */
  readonly now: number;
  readonly counters: readonly (CounterRecord | undefined)[];
}

export interface CounterDrift {
  readonly name: string;
  readonly key: string;
  readonly counted: number;
  readonly kept: number;
}

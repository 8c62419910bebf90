import type { FireOutcome, MissedPolicy } from '../../core/schedule/due.ts';
import type { DutyTerm } from './duty-store.ts';
import type { NewTask, PushAnswer } from './push-store.ts';
import type { NewRun } from './run-store.ts';

/** The part of the port for schedules. Each fire time fires once. */
export interface TriggerStore {
  /**
   * A trigger with an unchanged schedule keeps its place, and a paused one stays paused. Answers the next fire time. Those of workflows
   * change with their workflows alone: for them nothing happens here, nor when one is removed, paused or resumed.
   */
  triggerPut(params: { readonly trigger: NewTrigger }): Promise<number | undefined>;
  triggerRemove(params: { readonly name: string }): Promise<boolean>;
  /** By name. */
  triggerList(): Promise<readonly TriggerView[]>;
  triggerFind(params: { readonly name: string }): Promise<TriggerView | undefined>;
  /** It fires no more until it is resumed. A repeat changes nothing; answers whether there is one. */
  triggerPause(params: { readonly name: string }): Promise<boolean>;
  /** It goes on, but never before the place where it was held. Nothing happens when its schedule is another one by now. */
  triggerResume(params: TriggerResumption): Promise<boolean>;
  /** Triggers whose next fire time has come, and when the next one will. */
  triggerDue(params: { readonly limit: number }): Promise<DueTriggers>;
  /** Moves a trigger from one fire time to the next and pushes the tasks of the fire times, all or nothing. */
  triggerFire(params: TriggerFiring): Promise<TriggerAnswer>;
  /** Pushes a task out of turn; the trigger keeps its place. */
  triggerRun(params: TriggerRunning): Promise<PushAnswer | undefined>;
  /** What became of its fire times, the newest first. The last `FIRES_KEPT` are kept. */
  triggerFires(params: { readonly name: string; readonly limit: number }): Promise<readonly FireLine[]>;
}

export interface NewTrigger {
  readonly name: string;
  readonly lane: number;
  readonly spec: number;
  /** A schedule as `core/schedule/expression.ts` writes it. */
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  readonly priority: number;
  readonly maxTries: number;
  readonly payload: string;
  readonly nextAt: number;
  /** Its tasks are runs. Only triggers of workflows have it. */
  readonly run?: TriggerRun | undefined;
}

/** What a task of a trigger is called as a run. */
export interface TriggerRun {
  readonly kind: string;
  readonly title: string;
  /** The hash of its definition. */
  readonly definition: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface TriggerRecord extends NewTrigger {
  /** The stored workflow whose trigger it is. */
  readonly workflow?: string | undefined;
  readonly queue: string;
  readonly handler: string;
  /** Of a paused trigger: the fire time that it may go on from. Its `nextAt` is `NEVER`. */
  readonly heldAt: number | undefined;
}

export interface TriggerView extends TriggerRecord {
  readonly last: FireLine | undefined;
}

export interface FireLine {
  /** Counts the lines of a trigger from 1. */
  readonly n: number;
  readonly slot: number;
  /** Of skipped fire times: all from `slot` on and before this. */
  readonly ends: number | undefined;
  readonly at: number;
  readonly outcome: FireOutcome;
  readonly task: number | undefined;
}

export interface TriggerResumption {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly nextAt: number;
}

export interface DueTriggers {
  readonly now: number;
  readonly triggers: readonly TriggerRecord[];
  readonly nextInMs: number | undefined;
}

export interface TriggerFiring {
  readonly duty: DutyTerm;
  readonly name: string;
  /** The fire time that the caller saw: nothing happens when the trigger has moved on. */
  readonly from: number;
  readonly nextAt: number;
  /** Written down as one line. */
  readonly skipped?: { readonly first: number; readonly before: number } | undefined;
  /** The fire time of each of `items`. */
  readonly slots: readonly number[];
  readonly items: readonly NewTask[];
  /** The payload that the caller saw: nothing happens when the trigger has another one by now. */
  readonly payload?: string | undefined;
  /** Each of `items` as a run, in the same commit. */
  readonly runs?: readonly NewRun[] | undefined;
}

export interface TriggerRunning {
  readonly name: string;
  readonly item: NewTask;
  readonly run?: NewRun | undefined;
}

export interface TriggerAnswer {
  readonly moved: boolean;
  readonly pushed: readonly PushAnswer[];
}

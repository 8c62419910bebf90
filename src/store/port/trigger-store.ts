import type { MissedPolicy } from '../../core/schedule/due.ts';
import type { DutyTerm } from './duty-store.ts';
import type { NewTask, PushAnswer } from './push-store.ts';

/** The part of the port for cron. Each fire time fires once. */
export interface TriggerStore {
  /** A trigger with an unchanged schedule keeps its place. Answers the next fire time. */
  triggerPut(params: { readonly trigger: NewTrigger }): Promise<number>;
  triggerRemove(params: { readonly name: string }): Promise<boolean>;
  triggerList(): Promise<readonly TriggerRecord[]>;
  /** Triggers whose next fire time has come, and when the next one will. */
  triggerDue(params: { readonly limit: number }): Promise<DueTriggers>;
  /** Moves a trigger from one fire time to the next and pushes the tasks of the fire times, all or nothing. */
  triggerFire(params: TriggerFiring): Promise<TriggerAnswer>;
}

export interface NewTrigger {
  readonly name: string;
  readonly lane: number;
  readonly spec: number;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  readonly priority: number;
  readonly maxTries: number;
  readonly payload: string;
  readonly nextAt: number;
}

export interface TriggerRecord extends NewTrigger {
  readonly queue: string;
  readonly handler: string;
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
  readonly items: readonly NewTask[];
}

export interface TriggerAnswer {
  readonly moved: boolean;
  readonly pushed: readonly PushAnswer[];
}

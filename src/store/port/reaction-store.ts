import type { TriggerKind, TriggerOutcome } from '../../core/trigger/trigger.ts';
import type { DutyTerm } from './duty-store.ts';
import type { NewTask, PushAnswer } from './push-store.ts';
import type { NewDefinition, NewRun, RunPush } from './run-store.ts';

/**
 * The part of the port for triggers that are no schedules: the store says reaction. Each delivery acts once: its key is taken in the commit
 * that pushes its task.
 */
export interface ReactionStore {
  /**
   * Makes a reaction, or replaces the one of its name; whether that is on, its lines and its known keys stay. `cursor`: where it begins to
   * read; undefined leaves it where it is. Answers the new revision.
   */
  reactionPut(params: ReactionPut): Promise<number>;
  reactionFind(params: { readonly name: string }): Promise<ReactionView | undefined>;
  /** By name. */
  reactionList(params?: { readonly kind?: TriggerKind | undefined }): Promise<readonly ReactionView[]>;
  /** With its lines and keys. Its tasks stay. */
  reactionRemove(params: { readonly name: string }): Promise<boolean>;
  /** One that goes on begins at the cursor: what happened while it was off is not made up for. A repeat changes nothing. */
  reactionEnable(params: {
    readonly name: string;
    readonly enabled: boolean;
    readonly cursor: number;
  }): Promise<boolean>;
  /**
   * Acts on deliveries: keys, tasks, runs, lines and the cursor in one commit, or none of them. A delivery whose key is known acts no more;
   * its answer is the first one's task. A push that is refused takes no key, so that it may come again.
   */
  reactionFire(firing: ReactionFiring): Promise<ReactionAnswer>;
  /** Says what became of a line that was accepted. */
  reactionNote(params: {
    readonly name: string;
    readonly n: number;
    readonly outcome: TriggerOutcome;
    readonly detail?: string | undefined;
  }): Promise<void>;
  /** The newest first, those below `before`. The last `FIRINGS_KEPT` are kept. */
  reactionLines(params: {
    readonly name: string;
    readonly limit: number;
    readonly before?: number | undefined;
  }): Promise<readonly ReactionLine[]>;
  /** Known keys that begin so, in order, those after `after`. */
  reactionKeys(params: {
    readonly name: string;
    readonly prefix: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<readonly ReactionKey[]>;
  /** How many triggers led to each of these tasks; undefined: none is known of. */
  reactionLinks(params: { readonly tasks: readonly number[] }): Promise<readonly (number | undefined)[]>;
  /** Workers that were marked as lost, in order, after that number. The newest 10,000 are kept. */
  workerLosses(params: { readonly after: number; readonly limit: number }): Promise<LossPage>;
}

export interface ReactionPut {
  readonly name: string;
  readonly kind: TriggerKind;
  /** The trigger as JSON, which no store looks into. */
  readonly body: string;
  /** Of a new one; default on. */
  readonly enabled?: boolean | undefined;
  readonly cursor?: number | undefined;
}

export interface ReactionRecord {
  readonly name: string;
  readonly kind: TriggerKind;
  readonly body: string;
  readonly enabled: boolean;
  /** Another one at each change, also after it was removed and made again. */
  readonly revision: number;
  /** Up to where it has read what it listens to. */
  readonly cursor: number;
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface ReactionView extends ReactionRecord {
  /** How often it has acted, refusals included. */
  readonly lines: number;
  readonly last: ReactionLine | undefined;
}

export interface ReactionLine {
  /** Counts the lines of a reaction from 1. */
  readonly n: number;
  readonly at: number;
  readonly outcome: TriggerOutcome;
  readonly task: number | undefined;
  /** What was delivered, in a few words. */
  readonly about: string;
  readonly detail: string | undefined;
}

export interface ReactionKey {
  readonly key: string;
  readonly version: string;
}

export interface ReactionFiring {
  readonly name: string;
  /** As the caller saw it: nothing happens when it is another one, or is off. */
  readonly revision: number;
  /** Somebody asked for it: it fires also while it is off. */
  readonly byHand?: boolean | undefined;
  readonly duty?: DutyTerm | undefined;
  /** Where the caller began to read, and up to where: nothing happens when another one has read on. */
  readonly cursor?: { readonly from: number; readonly to: number } | undefined;
  readonly deliveries: readonly ReactionDelivery[];
  /** Keys that it need not know any more. */
  readonly forget?: readonly string[] | undefined;
}

export interface ReactionDelivery {
  /** Undefined: a line only, such as one that tells of what was lost. */
  readonly key: string | undefined;
  /** The same key with another version is another delivery. */
  readonly version?: string | undefined;
  /** How long the key is known. */
  readonly keepMs: number;
  readonly about: string;
  /** Of one without a task. */
  readonly outcome: TriggerOutcome;
  readonly detail?: string | undefined;
  readonly item?: NewTask | undefined;
  /** The task as a run, in the same commit. Where a run of its name is kept, that one is the answer, and nothing is pushed. */
  readonly run?: NewRun | undefined;
  /** What the tree of the run may use. */
  readonly budgets?: RunPush['budgets'] | undefined;
  readonly definition?: NewDefinition | undefined;
  /** How many triggers lead to the task, this one included. */
  readonly links?: number | undefined;
}

/** `changed`: look again. */
export type ReactionAnswer =
  | { readonly kind: 'done'; readonly delivered: readonly Delivered[] }
  | { readonly kind: 'changed' }
  | { readonly kind: 'gone' };

export interface Delivered {
  /** False: its key was known. */
  readonly fresh: boolean;
  /** The number of its line; 0 of one that is no longer kept. */
  readonly n: number;
  readonly task?: { readonly task: number; readonly createdAt: number } | undefined;
  /** Of a fresh one with a task. */
  readonly pushed?: PushAnswer | undefined;
}

export interface WorkerLoss {
  readonly n: number;
  readonly worker: number;
  readonly name: string;
  readonly host: string | undefined;
  readonly at: number;
}

export interface LossPage {
  readonly losses: readonly WorkerLoss[];
  /** Some after `after` are no longer kept. */
  readonly reset: boolean;
  /** Give this as `after` next time. */
  readonly last: number;
}

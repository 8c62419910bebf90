import type { Reason, TaskState } from '../../core/task/task.ts';
import type { NewBudget } from './budget-store.ts';
import type { LaneName } from './lane-store.ts';
import type { LimitRefusal, NewTask, PushConflict, PushedTask } from './push-store.ts';

/**
 * The part of the port for runs. A run is the root task of a tree together with what a caller called it. Its state is
 * that of the task: a run row is written when the run is made, and never when a task changes. A name belongs to one run
 * for as long as its task is kept.
 */
export interface RunStore {
  /** Texts by their hash. One that is there already is not written again, but counts as used now. */
  definitionPut(params: { readonly items: readonly NewDefinition[] }): Promise<void>;
  definitionGet(params: { readonly hash: string }): Promise<DefinitionRecord | undefined>;
  /**
   * Root tasks, each with its run, its definition and its budgets in one commit. Of all that ask for one name, one makes the run. The
   * answers are in the order of the runs. After an error the same objects may be sent again: what was committed by then is answered.
   */
  runPush(params: { readonly runs: readonly RunPush[] }): Promise<readonly RunPushAnswer[]>;
  /** Any task: one without a run row is answered as a run of kind `task`, from the task alone. */
  runGet(params: { readonly tasks: readonly number[] }): Promise<readonly (RunRecord | undefined)[]>;
  runFind(params: { readonly name: string }): Promise<RunRecord | undefined>;
  /** Newest first, below `before`. A call looks at a bounded number of runs, whatever its filters leave of them. */
  runList(params: RunQuery): Promise<RunPage>;
  /** Keeps who asked for the end of an unfinished run, and why. The first one stays until the run is revived. */
  runNoteCancel(params: {
    readonly task: number;
    readonly why?: string | undefined;
    readonly by?: string | undefined;
  }): Promise<NoteAnswer>;
}

/** Content-addressed: the caller makes the hash, and a hash stands for one text. */
export interface NewDefinition {
  readonly hash: string;
  readonly kind: string;
  readonly body: string;
}

export interface DefinitionRecord extends NewDefinition {
  /** When it was last put, in calendar time. Pushes of runs renew it at most once a minute. */
  readonly usedAt: number;
}

export interface RunPush {
  readonly task: NewTask;
  readonly run: NewRun;
  /** The text of `run.definition`. Without it the definition must be there already. */
  readonly definition?: NewDefinition | undefined;
  /** Those of its tree: no task of it can draw before they are there. */
  readonly budgets?: readonly NewBudget[] | undefined;
}

export interface NewRun {
  /** What the caller names it: unique among all runs that are kept. */
  readonly name?: string | undefined;
  /** A short word: `machine`, `task`, `agent`, `workflow`. */
  readonly kind: string;
  /** What a person calls it, such as the name of the machine. */
  readonly title: string;
  /** A hash over definition and input, by which a start under the same name is known to mean the same work. */
  readonly fingerprint: string;
  /** The hash of its definition. */
  readonly definition?: string | undefined;
  readonly forkedFrom?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Only `made` has written anything. */
export type RunPushAnswer =
  | (Omit<PushedTask, 'ok' | 'fresh'> & { readonly kind: 'made' })
  /** The name, the unique key or the operation id belongs to this run. */
  | { readonly kind: 'exists'; readonly run: RunRecord }
  /** The push itself was refused. */
  | { readonly kind: 'refused'; readonly answer: PushConflict | (LimitRefusal & { readonly ok: false }) }
  /** The definition is not there, and its text was not given. */
  | { readonly kind: 'unknown'; readonly definition: string };

export interface RunRecord extends LaneName {
  readonly task: number;
  readonly name: string | undefined;
  readonly kind: string;
  /** The handler, where there is no run row. */
  readonly title: string;
  /** Empty where there is no run row. */
  readonly fingerprint: string;
  readonly definition: string | undefined;
  readonly forkedFrom: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** Who asked for its end, when and why. */
  readonly cancelNote: CancelNote | undefined;
  /** From here on the task's own. */
  readonly createdAt: number;
  readonly state: TaskState;
  readonly reason: Reason;
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly cancelRequestedAt: number | undefined;
  /** Undefined: it is a root. */
  readonly parent: number | undefined;
  readonly root: number | undefined;
}

export interface CancelNote {
  readonly at: number;
  readonly why: string | undefined;
  readonly by: string | undefined;
}

export interface RunQuery {
  readonly before?: number | undefined;
  readonly limit: number;
  readonly kind?: string | undefined;
  readonly states?: readonly TaskState[] | undefined;
  /** What the name begins with. */
  readonly name?: string | undefined;
  readonly title?: string | undefined;
}

export interface RunPage {
  readonly runs: readonly RunRecord[];
  /** The `before` of the next page, which may be empty and not the last. Undefined: there are no more runs. */
  readonly next: number | undefined;
}

/** `kept`: somebody asked before, and that note stays. */
export type NoteAnswer = 'noted' | 'kept' | 'finished' | 'unknown';

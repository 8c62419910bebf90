import type { EngineErrorInit } from '../../../core/errors.ts';
import type { HandlerSchema } from '../../../core/placement/worker.ts';
import type { AttemptSession, RunOutcome, RunRequest, StopReason } from '../runner.ts';

/** What the worker tells a child process. */
export type ToChild =
  | { readonly type: 'load'; readonly modules: readonly ModuleToLoad[]; readonly incarnation: string }
  | { readonly type: 'job'; readonly run: number; readonly job: RunRequest }
  | { readonly type: 'abort'; readonly run: number; readonly why: StopReason }
  /** No more runs. (Not by disconnecting: Node then never says that everything of the child was read.) */
  | { readonly type: 'end' }
  /** This much of what it printed has been dealt with: it may print as much again. */
  | { readonly type: 'ack'; readonly run: number; readonly cost: number }
  | { readonly type: 'answer'; readonly ask: number; readonly answer: Answer };

/** How long the runs of handlers may take, as their definitions say, in milliseconds. */
export type Timeouts = Readonly<Record<string, number>>;

/** A number says that the run of that number was taken, and is written before any code of the task runs. */
export type FromChild =
  | number
  | { readonly type: 'loading'; readonly module: string }
  | {
      readonly type: 'ready';
      readonly names: readonly string[];
      readonly timeouts: Timeouts;
      readonly schemas: readonly HandlerSchema[];
    }
  | { readonly type: 'unloadable'; readonly module: string; readonly problem: string; readonly error?: PlainError }
  | ({ readonly type: 'output' } & ChildOutput)
  | ({ readonly type: 'ended' } & Ending)
  | { readonly type: 'group'; readonly pid: number; readonly gone: boolean }
  /** The handler wants to remember or to wait. `ask` is the number that the answer bears. */
  | { readonly type: 'ask'; readonly run: number; readonly ask: number; readonly question: Question }
  | { readonly type: 'uncaught'; readonly error: PlainError };

/** Run 0 is no run at all: what is printed before the first task and between two. */
export interface ChildOutput {
  readonly run: number;
  /** Stream and text by turns: one flat list costs half of what pairs do. */
  readonly lines: readonly (number | string)[];
  /** Takes up this much of what the child may have under way. */
  readonly cost: number;
  /** JSON text of the latest. */
  readonly progress?: string;
}

export interface Ending extends ChildOutput {
  readonly ended: RunOutcome;
  /** Processes of the run may be left that the child could not find or end: it must go, with its group. */
  readonly littered: boolean;
}

export interface ModuleToLoad {
  /** A URL. */
  readonly module: string;
  /** Only these of its tasks; undefined takes all that it exports. */
  readonly names: readonly string[] | undefined;
}

/** An error in a form that crosses between processes. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
}

export type Verb = keyof AttemptSession;

/** What a run asks of the desk of its worker. */
export interface Question {
  readonly verb: Verb;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly ok: true; readonly value?: unknown }
  /** An error of ours, with all that makes it one. */
  | { readonly ok: false; readonly ours: Omit<EngineErrorInit, 'cause'> }
  | { readonly ok: false; readonly other: PlainError };

const LONGEST = 64 * 1024;

/** Reading a foreign object may throw; that must not cost more than the description. */
export function plainError(error: unknown): PlainError {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: textOf(error).slice(0, LONGEST) };
    const { name, message, stack, code } = error as Error & { code?: unknown };
    return {
      name: String(name),
      message: String(message).slice(0, LONGEST),
      ...(typeof stack === 'string' ? { stack: stack.slice(0, LONGEST) } : {}),
      ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    };
  } catch {
    return { name: 'Error', message: 'what was thrown cannot be described' };
  }
}

function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? (JSON.stringify(value) ?? '') : String(value);
}

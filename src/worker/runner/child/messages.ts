import type { EngineErrorInit } from '../../../core/errors.ts';
import type { HandlerSchema } from '../../../core/placement/worker.ts';
import type { ArtifactReader } from '../../artifacts/attempt-artifacts.ts';
import type { WorkspaceReader } from '../../workspace/handler-workspace.ts';
import type { AttemptSession, RunOutcome, RunRequest, StopReason } from '../runner.ts';

/** Messages from the worker to a child process. */
export type ToChild =
  | { readonly type: 'load'; readonly modules: readonly ModuleToLoad[]; readonly incarnation: string }
  | { readonly type: 'job'; readonly run: number; readonly job: RunRequest }
  | { readonly type: 'abort'; readonly run: number; readonly why: StopReason }
  /** No more runs. (Not by disconnecting: then Node never reports that all output of the child was read.) */
  | { readonly type: 'end' }
  /** The worker has read this much of the output: the child may send as much again. */
  | { readonly type: 'ack'; readonly run: number; readonly cost: number }
  | { readonly type: 'answer'; readonly ask: number; readonly answer: Answer };

/** The run timeouts from the definitions of the handlers, in milliseconds. */
export type Timeouts = Readonly<Record<string, number>>;

/** Messages from a child process to its worker. A plain number says that this run has started, before any code of the task runs. */
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
  /** A durable call of the handler. The answer carries the number `ask`. */
  | { readonly type: 'ask'; readonly run: number; readonly ask: number; readonly question: Question }
  | { readonly type: 'uncaught'; readonly error: PlainError };

/** Run 0 is output outside of any run: before the first task, or between two. */
export interface ChildOutput {
  readonly run: number;
  /** Stream and text in turn: a flat list costs half of what pairs do. */
  readonly lines: readonly (number | string)[];
  /** Counts against the window of the child. */
  readonly cost: number;
  /** Lines and bytes that were dropped before these. */
  readonly dropped?: readonly [lines: number, bytes: number];
  /** JSON text of the latest progress value. */
  readonly progress?: string;
}

export interface Ending extends ChildOutput {
  readonly ended: RunOutcome;
  /** Processes of the run may be left that the child could not end: it must be killed with its group. */
  readonly littered: boolean;
}

export interface ModuleToLoad {
  /** A URL. */
  readonly module: string;
  /** Only these of its tasks; undefined takes all that it exports. */
  readonly names: readonly string[] | undefined;
}

/** An error as a plain value that can be sent between processes. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
}

export type Verb = keyof AttemptSession;

/** What a run in a child process asks of credentials. */
export type CredentialVerb = 'credential' | 'credentialFile';

/** What a run in a child process asks of artifacts: files go by their paths. */
export type ArtifactVerb = `artifact.${keyof ArtifactReader}`;

/** What a run in a child process asks of its workspace: the folder is on the same disk. */
export type WorkspaceVerb = `workspace.${keyof WorkspaceReader}`;

/** A call of the attempt's session, made by a run in a child process. */
export interface Question {
  readonly verb: Verb | CredentialVerb | ArtifactVerb | WorkspaceVerb;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly ok: true; readonly value?: unknown }
  /** An EngineError, with all its fields. */
  | { readonly ok: false; readonly ours: Omit<EngineErrorInit, 'cause'> }
  | { readonly ok: false; readonly other: PlainError };

const LONGEST = 64 * 1024;

/** Reading a foreign object may throw; then only the description is lost. */
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

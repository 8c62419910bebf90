import { fault, isEngineError } from '../../core/errors.ts';
import { plainInput } from '../../flow/workflow/forked.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import { HandlerArtifacts, type TaskArtifacts } from '../artifacts/handler-artifacts.ts';
import { type CredentialReader, HandlerCredentials, type TaskCredentials } from '../credentials/handler-credentials.ts';
import type { AnyTask, TaskContext } from '../define/definition.ts';
import { outcomeOf } from '../define/outcome.ts';
import { parseInput } from '../define/schema.ts';
import { DurableRuntime } from '../durable/durable-runtime.ts';
import { openWorkspace, specOf, type TaskWorkspace, type WorkspaceReader } from '../workspace/handler-workspace.ts';
import type { AttemptSession, RunOutcome, RunRequest } from './runner.ts';

export interface ContextParts {
  readonly signal: AbortSignal;
  readonly log: (message: string) => void;
  readonly progress: (value: unknown) => void;
  /** For durable calls; undefined: there are none in this run. */
  readonly session?: AttemptSession | undefined;
  /** Undefined: the run may read none. */
  readonly credentials?: CredentialReader | undefined;
  /** Undefined: the run can store none. */
  readonly artifacts?: ArtifactReader | undefined;
  /** Undefined: the run can have none. */
  readonly workspaces?: WorkspaceReader | undefined;
}

/** A run of a handler: the parts of its context, and who hears of its end. */
export interface HandlerRun extends ContextParts {
  /** Called once, and never before `callHandler` has returned. */
  end(outcome: RunOutcome): void;
}

const PARKED: RunOutcome = { kind: 'parked' };

/** Calls a handler, inline or in a child process. Never rejects: an error that it throws is the outcome of the attempt. */
export function runHandler(definition: AnyTask, request: RunRequest, parts: ContextParts): Promise<RunOutcome> {
  return new Promise((end) => void callHandler(definition, request, withEnd(parts, end)));
}

/** The parts stay as lazy as they are. */
function withEnd(parts: ContextParts, end: (outcome: RunOutcome) => void): HandlerRun {
  return Object.assign(Object.create(parts) as ContextParts, { end });
}

/** As `runHandler`, with one promise beside that of the handler. A worker starts the next task when this one has ended. */
export async function callHandler(definition: AnyTask, request: RunRequest, run: HandlerRun): Promise<void> {
  let input: unknown;
  try {
    input = JSON.parse(request.payload);
    if (definition.drive !== undefined) input = plainInput(input);
    if (definition.schema !== undefined) input = await parseInput(definition.schema, input, request.handler);
  } catch (error) {
    // A retry would be refused for the same input.
    queueMicrotask(() => run.end({ kind: 'giveUp', error }));
    return;
  }
  if (definition.drive !== undefined) {
    run.end(await driven(definition.drive, input, request, run));
    return;
  }
  const context = new Context(request, run);
  let outcome: RunOutcome;
  if (definition.workspace !== undefined) {
    run.end(await inWorkspace(definition, input, context, run));
    return;
  }
  try {
    const value = await definition.run(input, context);
    const durable = Context.durableOf(context);
    outcome = durable !== undefined && (await durable.hasParked()) ? PARKED : outcomeOf(value);
  } catch (error) {
    outcome = await failureOf(error, Context.durableOf(context));
  }
  run.end(outcome);
}

/** The folder is ready before the handler begins. What it has committed is handed on before the task is completed. */
async function inWorkspace(
  definition: AnyTask,
  input: unknown,
  context: Context,
  run: HandlerRun,
): Promise<RunOutcome> {
  try {
    const spec = specOf(definition.workspace as NonNullable<AnyTask['workspace']>, input);
    if (spec !== undefined) Context.place(context, await openWorkspace(spec, run.workspaces));
  } catch (error) {
    // Words that mean nothing mean nothing at the next try either.
    return { kind: isEngineError(error, 'INVALID_INPUT') ? 'giveUp' : 'failed', error };
  }
  try {
    const value = await definition.run(input, context);
    if ((await Context.durableOf(context)?.hasParked()) === true) return PARKED;
    const outcome = outcomeOf(value);
    if (outcome.kind === 'done' && Context.workspaceOf(context)?.branch !== undefined) await run.workspaces?.publish();
    return outcome;
  } catch (error) {
    return failureOf(error, Context.durableOf(context));
  }
}

/** It has recorded its end itself, or throws why it could not. */
async function driven(
  drive: NonNullable<AnyTask['drive']>,
  input: unknown,
  request: RunRequest,
  { session, signal, log, progress, credentials, artifacts, workspaces }: HandlerRun,
): Promise<RunOutcome> {
  try {
    if (session === undefined)
      throw fault('CONFLICT', { problem: 'this handler needs a worker, and this run has none' });
    return await drive(input, { request, session, signal, log, progress, credentials, artifacts, workspaces });
  } catch (error) {
    return { kind: 'failed', error };
  }
}

async function failureOf(error: unknown, durable: DurableRuntime | undefined): Promise<RunOutcome> {
  if (durable === undefined) return { kind: 'failed', error };
  if (await durable.hasParked()) return PARKED;
  return durable.isUncertain(error) ? { kind: 'giveUp', error: error.toJSON() } : { kind: 'failed', error };
}

/**
 * The context of a handler. Whatever costs something is made at its first use, because a short handler uses nothing of it.
 * Destructuring works: `{ log, signal }`.
 */
class Context implements TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly fence: number;
  readonly tries: number;
  readonly maxAttempts: number;
  readonly traceparent: string | undefined;
  readonly #request: RunRequest;
  readonly #parts: ContextParts;
  #durable: DurableRuntime | undefined;
  #credentials: TaskCredentials | undefined;
  #artifacts: TaskArtifacts | undefined;
  #workspace: TaskWorkspace | undefined;

  constructor(request: RunRequest, parts: ContextParts) {
    const { id, queue, attempt, tries, maxTries } = request;
    this.id = id;
    this.queue = queue;
    this.attempt = attempt;
    this.fence = attempt;
    this.tries = tries;
    this.maxAttempts = maxTries;
    this.traceparent = request.traceparent;
    this.#request = request;
    this.#parts = parts;
  }

  /** Undefined: the handler made no durable call. */
  static durableOf(context: Context): DurableRuntime | undefined {
    return context.#durable;
  }

  static workspaceOf(context: Context): TaskWorkspace | undefined {
    return context.#workspace;
  }

  static place(context: Context, workspace: TaskWorkspace): void {
    context.#workspace = workspace;
  }

  get workspace(): TaskWorkspace {
    if (this.#workspace !== undefined) return this.#workspace;
    throw fault('CONFLICT', { problem: 'this run has no workspace: its task asks for none' });
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get log(): (message: string) => void {
    return this.#parts.log;
  }

  get progress(): (value: unknown) => void {
    return this.#parts.progress;
  }

  get credentials(): TaskCredentials {
    this.#credentials ??= new HandlerCredentials(this.#parts.credentials);
    return this.#credentials;
  }

  get artifacts(): TaskArtifacts {
    this.#artifacts ??= new HandlerArtifacts(this.#parts.artifacts);
    return this.#artifacts;
  }

  get step(): DurableRuntime['step'] {
    return this.#runtime.step;
  }

  get list(): DurableRuntime['list'] {
    return this.#runtime.list;
  }

  get wait(): DurableRuntime['wait'] {
    return this.#runtime.wait;
  }

  get spawn(): DurableRuntime['spawn'] {
    return this.#runtime.spawn;
  }

  get dependencies(): DurableRuntime['dependencies'] {
    return this.#runtime.dependencies;
  }

  get #runtime(): DurableRuntime {
    this.#durable ??= new DurableRuntime(this.#request, this.#parts);
    return this.#durable;
  }
}

/** The task around a run handler: what it is given, and what its end means for the run. */

import type { ValueMap } from '../../../app/library/gateways.ts';
import {
  type AnyTask,
  EventLog,
  giveUp,
  type Log,
  type TaskContext,
  task,
  usualSecrets,
} from '../../../app/library/run-pools.ts';
import type { Run } from '../runs.ts';
import { RUN_HANDLER, type RuntimeDb } from '../runtime-db.ts';
import { makeWorkspace } from '../workspace.ts';
import { Checkpoints } from './checkpoints.ts';
import type { WorkerConfig } from './configs.ts';
import { patiently } from './patiently.ts';
import { type RunAnswer, type RunContext, RunFailure, type RunHandler } from './run-handler.ts';

export interface RunTaskParts {
  readonly conn: RuntimeDb;
  readonly config: Pick<WorkerConfig, 'workerId' | 'retryFailures'>;
  readonly handler: RunHandler;
  readonly log: Log;
  /** A run begins; what it answers is called when its handler has ended. */
  readonly onRun: (runId: string) => () => void;
}

export function runTask(parts: RunTaskParts): AnyTask {
  return task(RUN_HANDLER, {
    queue: parts.conn.queueName,
    run: (_: unknown, context: TaskContext) => perform(parts, context),
  }) as unknown as AnyTask;
}

async function perform(parts: RunTaskParts, context: TaskContext): Promise<unknown> {
  const { conn, onRun } = parts;
  const run = await find(conn, context);
  const ended = onRun(run.run_id);
  const { world } = conn.app.engine;
  const events = new EventLog({
    timers: world.timers,
    secrets: usualSecrets(),
    log: (line) => context.log(line),
    progress: (value) => context.progress(value),
  });
  try {
    const answer = await call(parts, context, run, events);
    await heedCancel(conn, context);
    return verdictOf(parts, context, run, answer);
  } catch (error) {
    // A stopped run is given back or cancelled, whatever its handler made of the stop.
    if (context.signal.aborted) throw error;
    await heedCancel(conn, context);
    return failed(parts, context, run, error);
  } finally {
    events.end();
    ended();
  }
}

async function call(
  { conn, config, handler }: RunTaskParts,
  context: TaskContext,
  run: Run,
  events: EventLog,
): Promise<RunAnswer> {
  const { attempt, signal } = context;
  const checkpoints = new Checkpoints(context);
  const workspace = run.workspace_dir ?? '';
  const own: RunContext = {
    run,
    conn,
    workerId: config.workerId,
    attempt,
    attemptDir: workspace === '' ? null : await workspaceOf(workspace, attempt),
    // The first attempt finds nothing, and so reads nothing.
    checkpoint: attempt === 1 ? null : ((await checkpoints.newest()) ?? null),
    signal,
    saveCheckpoint: (value) => checkpoints.save(value),
    heartbeat: () => !signal.aborted,
    emit: (event) => events.take(event as unknown as ValueMap),
    log: (message) => context.log(message),
    task: context,
  };
  return handler(run.run_id, workspace, own);
}

async function workspaceOf(workspace: string, attempt: number): Promise<string> {
  try {
    return await makeWorkspace(workspace, attempt);
  } catch (cause) {
    throw new RunFailure('workspace_unavailable', `the workspace ${workspace} cannot be made: ${wordsOf(cause)}`, {
      cause,
    });
  }
}

/** A requested cancel is a state that no other end overwrites: the worker, which looks each second, will tell of it. */
async function heedCancel(conn: RuntimeDb, context: TaskContext): Promise<void> {
  const { signal } = context;
  if (signal.aborted || (await find(conn, context)).status !== 'cancel_requested') return;
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function find(conn: RuntimeDb, { id, signal }: TaskContext): Promise<Run> {
  const { engine } = conn.app;
  const run = await patiently(engine.world, signal, () => conn.runOfTask(engine.parseId(id)));
  if (run === null) throw new Error(`the run ${id} is not there any more`);
  return run;
}

function verdictOf(parts: RunTaskParts, context: TaskContext, run: Run, answer: RunAnswer): unknown {
  const { success, result = null, error } = readAnswer(answer);
  if (success) return result;
  const words = error === undefined || error === null ? 'the run handler said that it failed' : wordsOf(error);
  const failure = new RunFailure('run_handler_failed', words);
  // Nothing was thrown: our own frames help nobody.
  delete failure.stack;
  return failed(parts, context, run, failure);
}

function readAnswer(answer: unknown): Exclude<RunAnswer, boolean> {
  if (typeof answer === 'object' && answer !== null && 'success' in answer && typeof answer.success === 'boolean')
    return answer as Exclude<RunAnswer, boolean>;
  return { success: answer === true };
}

/** Final, as Universal Agent has it; or an error like that of any task, which is tried again. */
function failed({ config, log }: RunTaskParts, context: TaskContext, run: Run, error: unknown): unknown {
  const failure_class = classOf(error);
  const { stack, message = wordsOf(error), name = 'Error' } = error instanceof Error ? error : ({} as Partial<Error>);
  const { run_id } = run;
  const { attempt } = context;
  const trace = stack ?? message;
  context.log(trace);
  log.error('a run failed', { run_id, attempt, worker_id: config.workerId, failure_class, error: trace });
  if (config.retryFailures) throw new RunFailure(failure_class, message, { cause: error });
  return giveUp({ failure_class, message, name, run_id, attempt, ...(stack === undefined ? {} : { stack }) });
}

/** By its field: the error may come from another loaded copy of the package. */
function classOf(error: unknown): string {
  const named = error instanceof Error && 'failureClass' in error ? error.failureClass : undefined;
  return typeof named === 'string' ? named : 'worker_exception';
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs of workflows for programs, on a store or on a node. */
import { isEngineError } from '../../core/errors.ts';
import { checkOptions } from '../../engine/check.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import type { Caller } from '../../operate/operator.ts';
import type { RunView } from '../../operate/views.ts';
import type { AnyWorkflow } from '../../worker/workflow/workflow.ts';
import type { Handle, RunOptions, WorkflowHandle } from './leasehold.ts';
import { pushOf } from './pushing.ts';

const OPTIONS: ReadonlySet<string> = new Set([
  'executionId',
  'title',
  'labels',
  'budgets',
  'queue',
  'priority',
  'maxAttempts',
  'placement',
  'limits',
  'permissions',
] satisfies (keyof RunOptions)[]);

/** What starts a run on either side. */
export type StartTask = (
  task: PushRequest,
  run: {
    readonly name: string | undefined;
    readonly title: string;
    readonly labels: RunOptions['labels'];
    readonly budgets: RunOptions['budgets'];
  },
) => Promise<{ readonly id: string; readonly fresh: boolean }>;

export interface RunStarter {
  readonly start: StartTask;
  /** The run of that name. */
  readonly find: (name: string) => Promise<Pick<RunView, 'handler'> | undefined>;
}

/** Starts a run, or goes on with the one that has the name. */
export async function startWorkflow(
  workflow: AnyWorkflow,
  input: unknown,
  options: RunOptions,
  { start, find }: RunStarter,
): Promise<{ readonly id: string; readonly fresh: boolean }> {
  checkOptions('run options', options, OPTIONS);
  const { executionId, title = workflow.workflow, labels, budgets, ...rest } = options;
  const request = await pushOf(workflow, input, rest);
  const run = { name: executionId, title, labels, budgets };
  try {
    return await start(request, run);
  } catch (error) {
    if (executionId === undefined || !isEngineError(error, 'UNIQUE_CONFLICT')) throw error;
    const there = await find(executionId);
    // It began with another version of this workflow, and stays there; with another input it is other work.
    const { handler } = there ?? {};
    if (handler === undefined || handler === request.handler || !isVersionOf(handler, workflow.workflow)) throw error;
    return start({ ...request, handler }, run);
  }
}

function isVersionOf(handler: string, name: string): boolean {
  return handler === name || handler.startsWith(`${name}@`);
}

/** A handle that can signal its run. */
export function workflowHandle<R>(
  handle: Handle<R>,
  executionId: string | undefined,
  signal: (channel: string, body: unknown) => Promise<unknown>,
): WorkflowHandle<R> {
  return Object.assign(handle, {
    executionId,
    signal: async (name: string, body?: unknown) => {
      await signal(`${handle.id}:${name}`, body);
    },
  });
}

/** Over the operator's surface, on a store or on a node. It is loaded with the first run: most programs start none. */
export function startOver(operator: Caller): RunStarter {
  return {
    start: async (task, { name, title, labels, budgets }) => {
      const { wireOf } = await import('../../operate/calls/push-calls.ts');
      const body = {
        task: wireOf(task),
        title,
        ...(name === undefined ? {} : { name }),
        ...(labels === undefined ? {} : { labels }),
        ...(budgets === undefined ? {} : { budgets: [...budgets] }),
      };
      return operator.call('startRun', { body });
    },
    find: async (id) => {
      try {
        return await operator.call('getRun', { params: { id } });
      } catch (error) {
        if (isEngineError(error, 'NOT_FOUND')) return undefined;
        throw error;
      }
    },
  };
}

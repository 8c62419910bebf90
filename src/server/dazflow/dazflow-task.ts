import type { DazflowNotice, DazflowTask } from '../../protocol/dazflow.ts';
import type { Assignment } from '../../protocol/link.ts';

/**
 * A task in the words of dazflow: its input is the execution snapshot. The workflow and the node that the snapshot names
 * count; without them they are the queue and the handler.
 */
export function dazflowTask(one: Assignment, timeoutMs: number | undefined): DazflowTask {
  const input = JSON.parse(one.payload) as unknown;
  const { workflow_name: workflow, node_id: node } = (input ?? {}) as Readonly<Record<string, unknown>>;
  return {
    id: one.id,
    queue: one.queue,
    handler: one.handler,
    input,
    workflow_name: typeof workflow === 'string' ? workflow : one.queue,
    node_id: typeof node === 'string' ? node : one.handler,
    execution_snapshot: input,
    queued_at: new Date(one.createdAt).toISOString(),
    attempt: one.attempt,
    tries: one.tries,
    max_attempts: one.maxTries,
    timeout_ms: timeoutMs ?? null,
  };
}

/** The offer as dazflow has it, or flat, as agents expect it that come with their secret in the address. */
export function offerOf(task: DazflowTask, byPath: boolean): DazflowNotice {
  const { id, workflow_name, node_id, execution_snapshot } = task;
  if (!byPath) return { type: 'task_available', task };
  return { type: 'task_available', task_id: id, workflow_name, node_id, execution_snapshot };
}

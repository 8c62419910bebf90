import type { DazflowNotice, DazflowPlace, DazflowTask } from '../../protocol/dazflow.ts';
import type { Assignment } from '../../protocol/link.ts';

/**
 * A task in the words of dazflow: its input is the execution snapshot. The workflow and the node that the snapshot names count; without them
 * those of the graph that bore it, and else the queue and the handler.
 */
export function dazflowTask(one: Assignment, timeoutMs: number | undefined, place?: DazflowPlace): DazflowTask {
  const input = JSON.parse(one.payload) as unknown;
  const { workflow_name: workflow, node_id: node } = (input ?? {}) as Readonly<Record<string, unknown>>;
  return {
    id: one.id,
    queue: one.queue,
    handler: one.handler,
    input,
    workflow_name: typeof workflow === 'string' ? workflow : (place?.workflow_name ?? one.queue),
    node_id: typeof node === 'string' ? node : (place?.node_id ?? one.handler),
    ...(place === undefined ? {} : rulesOf(place)),
    execution_snapshot: input,
    queued_at: new Date(one.createdAt).toISOString(),
    claimed_by: null,
    claimed_at: null,
    attempt: one.attempt,
    tries: one.tries,
    max_attempts: one.maxTries,
    timeout_ms: timeoutMs ?? null,
  };
}

function rulesOf({ execution_id, agent_config, required_credential }: DazflowPlace) {
  return { execution_id, agent_config, required_credential };
}

/** The offer as dazflow has it, or flat, as agents expect it that come with their secret in the address. */
export function offerOf(task: DazflowTask, byPath: boolean): DazflowNotice {
  const { id, workflow_name, node_id, execution_snapshot } = task;
  if (!byPath) return { type: 'task_available', task };
  return { type: 'task_available', task_id: id, workflow_name, node_id, execution_snapshot };
}

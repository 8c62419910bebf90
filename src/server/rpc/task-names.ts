import type { Engine } from '../../engine/engine.ts';
import type { Document } from '../../engine/trees/documents.ts';
import { RpcProblem } from './problems.ts';

/** The id of the task that a call names. */
export function idOf({
  task_id,
  id,
}: {
  readonly task_id?: string | undefined;
  readonly id?: string | undefined;
}): string {
  const given = task_id ?? id;
  if (given === undefined) throw new RpcProblem('params', 'task_id is missing');
  if (task_id !== undefined && id !== undefined && task_id !== id) {
    throw new RpcProblem('params', 'task_id and id mean the same, and differ');
  }
  return given;
}

/** A task of the engine, by its own id or by the id of the document that it is the last execution of. */
export interface NamedTask {
  readonly task: number;
  readonly document: Document | undefined;
}

const OWN = 'task_';

export async function taskNamed(engine: Engine, id: string): Promise<NamedTask> {
  if (id.startsWith(OWN)) {
    const task = engine.parseId(id);
    const [document] = await engine.documents.of([task]);
    return { task, document };
  }
  const document = await engine.documents.get(id);
  if (document.task === undefined) throw new RpcProblem('transition', `the task ${id} is pending: execute it first`);
  return { task: document.task, document };
}

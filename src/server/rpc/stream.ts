import { isTaskEvent } from '../../core/task/event.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Document, Execution } from '../../engine/trees/documents.ts';
import type { EventBroadcaster } from '../events/event-broadcaster.ts';
import type { Message } from '../events/sse.ts';
import { type TaskView, viewOne } from './view.ts';

export interface FollowOptions {
  readonly engine: Engine;
  readonly broadcaster: EventBroadcaster;
  readonly execution: Execution;
  /** The number of the last event before the execution. */
  readonly after: number;
  /** The id of the task in the call. */
  readonly id: string;
  /** The answer of a call without a stream. */
  readonly answer: object;
}

/** Streams an execution until all of it has ended; the types of the messages are those of apflow. */
export async function* followExecution(options: FollowOptions, signal: AbortSignal): AsyncGenerator<Message> {
  const { engine, broadcaster, execution, answer } = options;
  const documents = new Map(execution.map(({ document, pushed }) => [pushed.task, document]));
  const open = new Set(documents.keys());
  yield message('progress', { ...answer, progress: 0, total: documents.size });
  const ended = async function* (task: number): AsyncGenerator<Message> {
    open.delete(task);
    const view = await look(engine, documents.get(task) as Document);
    const type = view?.status === 'completed' ? 'task_completed' : 'task_failed';
    const outcome = type === 'task_completed' ? { result: view?.['result'] } : { error: view?.['error'] ?? null };
    yield message(type, { task_id: documents.get(task)?.id, status: view?.status ?? 'failed', ...outcome });
    const done = documents.size - open.size;
    yield message('progress', { progress: done / documents.size, completed: done, total: documents.size });
  };
  // Tasks that ended before the feed was read, or in a gap of the feed: their events do not come again.
  const catchUp = async function* (): AsyncGenerator<Message> {
    const tasks = [...open];
    const records = await engine.store.taskGet({ tasks });
    for (const [i, task] of tasks.entries()) if (isFinal(records[i]?.state ?? 'failed')) yield* ended(task);
  };
  for await (const item of broadcaster.follow(options.after, signal)) {
    if (item.kind === 'reset') yield* catchUp();
    else if (isTaskEvent(item.event) && open.has(item.event.task)) {
      const { task, change, state, attempt } = item.event;
      const id = documents.get(task)?.id;
      if (change === 'claimed') yield message('task_start', { task_id: id, status: 'in_progress', attempt });
      if (isFinal(state)) yield* ended(task);
    }
    if (open.size === 0) break;
  }
  if (signal.aborted) return;
  const last = await engine.documents.find(options.id);
  const view = last && (await look(engine, last));
  yield message('final', {
    task_id: options.id,
    status: view?.status ?? 'failed',
    result: view?.['result'] ?? null,
    error: view?.['error'] ?? null,
    final: true,
  });
  yield message('stream_end', {});
}

const message = (type: string, data: object): Message => ({ data: { type, ...data } });

/** The document now; its task is that of this execution. */
async function look(engine: Engine, { id }: Pick<Document, 'id'>): Promise<TaskView | undefined> {
  const document = await engine.documents.find(id);
  return document === undefined ? undefined : viewOne(engine, document);
}

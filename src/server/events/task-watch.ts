import { isFinal } from '../../core/task/task.ts';
import { requireTask } from '../../operate/calls/calls.ts';
import type { Caller } from '../../operate/operator.ts';
import type { TaskView } from '../../operate/views.ts';
import type { EventBroadcaster } from './event-broadcaster.ts';

export interface WatchOptions {
  readonly broadcaster: EventBroadcaster;
  readonly operator: Caller;
}

/** The task now and after each change, until it has ended. */
export async function* watchTask(
  { broadcaster, operator }: WatchOptions,
  task: number,
  signal: AbortSignal,
): AsyncGenerator<TaskView> {
  // Read before the task, so that no change in between is missed.
  const after = await broadcaster.now();
  let shown = await requireTask(operator, String(task));
  yield shown;
  if (isFinal(shown.state)) return;
  for await (const item of broadcaster.follow(after, signal)) {
    if (item.kind === 'event' && item.event.task !== task) continue;
    const before = shown;
    shown = await requireTask(operator, String(task));
    if (shown.state === before.state && shown.attempt === before.attempt) continue;
    yield shown;
    if (isFinal(shown.state)) return;
  }
}

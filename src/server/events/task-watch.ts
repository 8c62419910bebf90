import { isFinal } from '../../core/task/task.ts';
import { requireTask } from '../../operate/calls/calls.ts';
import type { Caller } from '../../operate/operator.ts';
import type { TaskView } from '../../operate/views.ts';
import type { EventBroadcaster } from './event-broadcaster.ts';

export interface WatchOptions {
  readonly broadcaster: EventBroadcaster;
  readonly operator: Caller;
}

/** How a task stands, now and after each thing that happens to it, until it has ended. */
export async function* watchTask(
  { broadcaster, operator }: WatchOptions,
  task: number,
  signal: AbortSignal,
): AsyncGenerator<TaskView> {
  // Before the first look: what happens after it is heard of.
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

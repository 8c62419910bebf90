import { fault } from '../core/errors.ts';
import { isFinal } from '../core/task.ts';
import type { Desk, TaskShape } from './desk.ts';
import type { EventHub } from './event-hub.ts';

export interface Watched {
  readonly hub: EventHub;
  readonly desk: () => Desk;
}

/** How a task stands, now and after each thing that happens to it, until it has ended. */
export async function* watchTask({ hub, desk }: Watched, task: number, signal: AbortSignal): AsyncGenerator<TaskShape> {
  // Before the first look: what happens after it is heard of.
  const after = await hub.now();
  let shown = await look(desk, task);
  yield shown;
  if (isFinal(shown.state)) return;
  for await (const item of hub.follow(after, signal)) {
    if (item.kind === 'event' && item.event.task !== task) continue;
    const before = shown;
    shown = await look(desk, task);
    if (shown.state === before.state && shown.attempt === before.attempt) continue;
    yield shown;
    if (isFinal(shown.state)) return;
  }
}

async function look(desk: () => Desk, task: number): Promise<TaskShape> {
  const [shown] = await desk().shown([task]);
  if (shown === undefined) throw fault('NOT_FOUND', { kind: 'task', id: String(task) });
  return shown;
}

import { fault } from '../../core/errors.ts';
import type { WorkerChange } from '../../core/task/event.ts';
import type { Change } from '../../core/task/task.ts';
import type { FeedView } from '../../operate/operator.ts';
import type { EventView } from '../../operate/views.ts';
import type { AppFeedItem } from '../library/leasehold.ts';

type With<K extends keyof EventView> = { readonly [P in K]-?: NonNullable<EventView[P]> };
type OfTask = EventView & With<'task' | 'queue' | 'state' | 'attempt'> & { readonly kind: Change };
type OfWorker = EventView & With<'worker'> & { readonly kind: WorkerChange };

/** An event of a node, as an item of the feed. */
export function itemOf(item: FeedView): AppFeedItem {
  if (item.kind === 'reset') return item;
  const { event } = item;
  if (isOfTask(event)) {
    const { seq, at, kind, task, queue, state, attempt } = event;
    return { kind: 'event', event: { seq, at, queue, change: kind, state, attempt, id: task } };
  }
  if (isOfWorker(event)) {
    const { seq, at, kind, worker } = event;
    return { kind: 'worker', event: { seq, at, change: kind, name: worker } };
  }
  throw fault('INTERNAL', { problem: `event ${event.seq} of the node is neither of a task nor of a worker` });
}

function isOfTask(event: EventView): event is OfTask {
  return event.task !== undefined;
}

/** Events of tasks may name a worker, too. */
function isOfWorker(event: EventView): event is OfWorker {
  return event.worker !== undefined;
}

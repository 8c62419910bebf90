import type { Message } from '../client/messages.ts';
import type { WorkerChange } from '../core/event.ts';
import type { Change } from '../core/task.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { AppEvent, AppFeedItem } from './leasehold.ts';

type Shape = AnswerOf<'streamEvents'>;

/** A message of the stream of events as an item of the feed. */
export function itemOf({ event, data }: Message & { readonly data: string }): AppFeedItem {
  const parsed = JSON.parse(data) as unknown;
  if (event === 'reset') return { kind: 'reset', last: (parsed as { readonly last: number }).last };
  return itemOfShape(parsed as Shape);
}

/** What has no task tells of a worker. */
export function itemOfShape(shape: Shape): Exclude<AppFeedItem, { kind: 'reset' }> {
  const { seq, at, kind, task, queue, state, attempt, worker = '' } = shape;
  if (task === undefined) return { kind: 'worker', event: { seq, at, change: kind as WorkerChange, name: worker } };
  return { kind: 'event', event: { seq, at, queue, change: kind as Change, state, attempt, id: task } as AppEvent };
}

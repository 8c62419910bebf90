import type { Message } from '../client/messages.ts';
import type { Change } from '../core/task.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { AppEvent, AppFeedItem } from './leasehold.ts';

/** A message of the stream of events as an item of the feed. */
export function eventOf({ event, data }: Message & { readonly data: string }): AppFeedItem {
  const parsed = JSON.parse(data) as unknown;
  if (event === 'reset') return { kind: 'reset', last: (parsed as { readonly last: number }).last };
  return { kind: 'event', event: taskEvent(parsed as AnswerOf<'streamEvents'>) };
}

export function taskEvent({ seq, at, kind, task, queue, state, attempt }: AnswerOf<'streamEvents'>): AppEvent {
  return { seq, at, queue, change: kind as Change, state, attempt, id: task };
}

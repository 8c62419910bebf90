import type { DutyTerm, EventStore, NumberAnswer } from '../../store.ts';
import { numberEvents, readEvents } from '../verbs/admin/event.ts';
import type { StoreParts } from './store-parts.ts';

export function eventStore(parts: StoreParts): EventStore {
  return {
    eventRead: ({ after, limit }) => parts.calls.run((session) => readEvents(session, after, limit)),
    eventNumber: ({ duty, limit }) => number(parts, duty, limit),
  };
}

async function number({ calls, hints }: StoreParts, duty: DutyTerm, limit: number): Promise<NumberAnswer> {
  const answer = await calls.run((session) => numberEvents(session, duty, limit));
  if (answer.events > 0) hints.news();
  return answer;
}

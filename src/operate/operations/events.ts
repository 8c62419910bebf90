import { type FeedEvent, isTaskEvent, type TaskEvent, wordsOf } from '../../core/task/event.ts';
import type { Engine } from '../../engine/engine.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import { EventDetails, type EventFacts } from '../event-details.ts';
import type { EventView } from '../views.ts';
import type { Operations } from './operation.ts';

export const eventOperations = {
  async readEvents({ engine }, { query: { after, limit = PER_PAGE } = {} }) {
    if (after === undefined) return { events: [], last: await engine.newestEvent(), reset: false };
    const { events, last, reset } = await engine.store.eventRead({ after, limit });
    const facts = await new EventDetails(engine).of(events);
    return { events: events.map((event) => eventView(engine, event, facts.get(event.seq))), last, reset };
  },
} satisfies Operations;

/** `facts`: what is known of the attempt. */
export function eventView(engine: Engine, event: FeedEvent, facts: EventFacts = {}): EventView {
  const { seq, at, change } = event;
  const common = { seq, at, kind: change, words: wordsOf(event) };
  if (!isTaskEvent(event)) {
    return { ...common, worker: event.name, ...(event.host === undefined ? {} : { host: event.host }) };
  }
  const { queue, state, attempt } = event;
  const expiry = expiryOf(event, engine.leaseMs);
  const details = detailsOf(event, facts);
  return {
    ...common,
    task: engine.idOf(event),
    queue,
    state,
    attempt,
    ...(facts.name === undefined ? {} : { worker: facts.name }),
    ...(facts.host === undefined ? {} : { host: facts.host }),
    ...(expiry === undefined ? {} : { leaseExpiresAt: expiry }),
    ...(details === undefined ? {} : { details }),
  };
}

/** When the lease runs out as it was granted, or has run out. */
function expiryOf({ change, at }: TaskEvent, leaseMs: number): number | undefined {
  if (change === 'claimed') return at + leaseMs;
  return change === 'expired' ? at : undefined;
}

/** The message of an error goes into the feed, and not all that an error may hold. */
const MOST_MESSAGE = 500;

function detailsOf({ state, change }: TaskEvent, { reason = 'none', error }: EventFacts): EventView['details'] {
  const message = error === undefined || (change !== 'retried' && change !== 'failed') ? undefined : messageOf(error);
  const ended = reason !== 'none' && (state === 'failed' || state === 'cancelled');
  if (message === undefined && !ended) return undefined;
  return { ...(ended ? { reason } : {}), ...(message === undefined ? {} : { error: message }) };
}

function messageOf(error: string): string | undefined {
  const { message } = (JSON.parse(error) ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' ? message.slice(0, MOST_MESSAGE) : undefined;
}

import { type FeedEvent, isTaskEvent, wordsOf } from '../../core/task/event.ts';
import type { Engine } from '../../engine/engine.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { EventView } from '../views.ts';
import type { Operations } from './operation.ts';

/** Above the number of any event: a read from there answers the number of the newest one. */
const AHEAD_OF_ALL = 2 ** 52;

export async function newestEvent(engine: Engine): Promise<number> {
  return (await engine.store.eventRead({ after: AHEAD_OF_ALL, limit: 1 })).last;
}

export const eventOperations = {
  async readEvents({ engine }, { query: { after, limit = PER_PAGE } = {} }) {
    if (after === undefined) return { events: [], last: await newestEvent(engine), reset: false };
    const { events, last, reset } = await engine.store.eventRead({ after, limit });
    return { events: events.map((event) => eventView(engine, event)), last, reset };
  },
} satisfies Operations;

/** `worker`: the worker that has the task, where the caller asked for it. */
export function eventView(engine: Engine, event: FeedEvent, worker?: string): EventView {
  const { seq, at, change } = event;
  const common = { seq, at, kind: change, words: wordsOf(event) };
  if (!isTaskEvent(event)) return { ...common, worker: event.name };
  const { queue, state, attempt } = event;
  return { ...common, task: engine.idOf(event), queue, state, attempt, ...(worker === undefined ? {} : { worker }) };
}

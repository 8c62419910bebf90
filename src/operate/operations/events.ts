import { type FeedEvent, isTaskEvent, wordsOf } from '../../core/task/event.ts';
import type { Engine } from '../../engine/engine.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { EventView } from '../views.ts';
import type { Operations } from './operation.ts';

export const eventOperations = {
  async readEvents({ engine }, { query: { after, limit = PER_PAGE } = {} }) {
    if (after === undefined) return { events: [], last: await engine.newestEvent(), reset: false };
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

import { fault } from '../../core/errors.ts';
import type { TaskEvent } from '../../core/event.ts';
import { checkName } from '../../core/names.ts';
import type { AnswerOf } from '../../protocol/routes.ts';
import { type Call, type Handlers, Stream } from '../route-handler.ts';
import type { Message } from '../sse.ts';
import { lastEventId } from './tasks.ts';

export const eventRoutes: Handlers<'readEvents' | 'streamEvents'> = {
  async readEvents({ query: { after, limit }, hub, engine }) {
    if (after === undefined) return { events: [], last: await hub.now(), reset: false };
    const { events, last, reset } = await engine.store.eventRead({ after, limit });
    return { events: events.map((event) => shapeOf(event, engine.idOf(event))), last, reset };
  },

  async streamEvents(call) {
    const { hub, engine } = call;
    const after = afterOf(call) ?? (await hub.now());
    const wanted = filterOf(call);
    return new Stream(async function* (signal): AsyncGenerator<Message> {
      for await (const item of hub.follow(after, signal)) {
        // Numbers from before are gone: who rebuilds a picture from the stream looks at the state again.
        if (item.kind === 'reset') yield { id: String(item.last), event: 'reset', data: { last: item.last } };
        else if (wanted(item.event)) yield messageOf(item.event, engine.idOf(item.event));
      }
    });
  },
};

function messageOf(event: TaskEvent, id: string): Message {
  return { id: String(event.seq), event: event.change, data: shapeOf(event, id) };
}

function shapeOf({ seq, at, change, queue, state, attempt }: TaskEvent, id: string): AnswerOf<'streamEvents'> {
  return { seq, at, kind: change, task: id, queue, state, attempt };
}

/** A browser that comes back says it in a header; it is newer than what the address says. */
function afterOf({ query, request }: Call<'streamEvents'>): number | undefined {
  const header = lastEventId(request.headers['last-event-id']);
  if (header === undefined) return query.after;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw fault('INVALID_INPUT', { field: 'Last-Event-ID', problem: 'it is the number of an event' });
}

function filterOf({ query, engine }: Call<'streamEvents'>): (event: TaskEvent) => boolean {
  const tasks = new Set(query.task.map((id) => engine.parseId(id)));
  const queues = new Set(query.queue.map((name) => checkName('queue', name)));
  const kinds = new Set<TaskEvent['change']>(query.kind);
  return ({ task, queue, change }) =>
    (tasks.size === 0 || tasks.has(task)) &&
    (queues.size === 0 || queues.has(queue)) &&
    (kinds.size === 0 || kinds.has(change));
}

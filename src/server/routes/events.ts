import { fault } from '../../core/errors.ts';
import { checkName, checkWorkerId } from '../../core/names.ts';
import { type FeedEvent, isTaskEvent, type TaskEvent, wordsOf } from '../../core/task/event.ts';
import type { Engine } from '../../engine/engine.ts';
import type { FeedItem } from '../../engine/read/feed.ts';
import { eventView } from '../../operate/operations/events.ts';
import type { Message } from '../events/sse.ts';
import { EventStream } from '../http/answers.ts';
import type { Call, Handlers } from '../http/route-handler.ts';
import { lastEventId } from './logs.ts';

export const eventRoutes: Handlers<'streamEvents'> = {
  async streamEvents(call) {
    const { broadcaster, engine } = call;
    const after = afterOf(call) ?? (await broadcaster.now());
    const wanted = filterOf(call);
    const workers = new Set(call.query.worker.map((name) => checkWorkerId('worker', name)));
    return new EventStream(async function* (signal): AsyncGenerator<Message> {
      for await (const page of broadcaster.pages(after, signal)) {
        const some = page.filter((item) => item.kind === 'reset' || wanted(item.event));
        const names = workers.size === 0 ? undefined : await workersOf(engine, some);
        for (const item of some) {
          // Older events are gone. A reader that builds its state from the stream reads the state again.
          if (item.kind === 'reset') yield { id: String(item.last), event: 'reset', data: { last: item.last } };
          else if (names === undefined) yield messageOf(engine, item.event);
          else {
            const worker = item.kind === 'worker' ? item.event.name : names.get(item.event.seq);
            if (worker !== undefined && workers.has(worker)) yield messageOf(engine, item.event, worker);
          }
        }
      }
    });
  },
};

/** The workers of task events, by event number. The feed does not carry them, so a filter by worker reads the attempts. */
async function workersOf(engine: Engine, items: readonly FeedItem[]): Promise<ReadonlyMap<number, string>> {
  const events = items.flatMap((item) => (item.kind === 'event' && item.event.attempt > 0 ? [item.event] : []));
  if (events.length === 0) return new Map();
  const names = await engine.store.attemptWorkers({ items: events.map(({ task, attempt }) => ({ task, attempt })) });
  return new Map(events.flatMap(({ seq }, i) => (names[i] === undefined ? [] : [[seq, names[i]] as const])));
}

function messageOf(engine: Engine, event: FeedEvent, worker?: string): Message {
  return { id: String(event.seq), event: event.change, data: eventView(engine, event, worker) };
}

/** A browser that reconnects sends the last id in a header, which is newer than the one in the address. */
function afterOf({ query, request }: Call<'streamEvents'>): number | undefined {
  const header = lastEventId(request.headers['last-event-id']);
  if (header === undefined) return query.after;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw fault('INVALID_INPUT', { field: 'Last-Event-ID', problem: 'it is the number of an event' });
}

/** A filter by task or queue leaves out the events of workers. */
function filterOf({ query, engine }: Call<'streamEvents'>): (event: FeedEvent) => boolean {
  const tasks = new Set(query.task.map((id) => engine.parseId(id)));
  const queues = new Set(query.queue.map((name) => checkName('queue', name)));
  const kinds = new Set<string>(query.kind);
  const about = (event: FeedEvent): boolean => {
    if (tasks.size === 0 && queues.size === 0) return true;
    return isTaskEvent(event) && isOf(event, tasks, queues);
  };
  return (event) =>
    about(event) && (kinds.size === 0 || kinds.has(event.change) || wordsOf(event).some((word) => kinds.has(word)));
}

function isOf({ task, queue }: TaskEvent, tasks: ReadonlySet<number>, queues: ReadonlySet<string>): boolean {
  return (tasks.size === 0 || tasks.has(task)) && (queues.size === 0 || queues.has(queue));
}

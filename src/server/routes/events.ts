import { fault } from '../../core/errors.ts';
import { checkName, checkWorkerId } from '../../core/names.ts';
import { type FeedEvent, isTaskEvent, type TaskEvent, wordsOf } from '../../core/task/event.ts';
import { EngineSnapshot } from '../../operate/engine-snapshot.ts';
import { eventView } from '../../operate/operations/events.ts';
import { findRun } from '../../operate/runs/find-run.ts';
import { RunMembers } from '../../operate/runs/run-members.ts';
import type { Message } from '../events/sse.ts';
import { EventStream } from '../http/answers.ts';
import type { Call, Handlers } from '../http/route-handler.ts';
import { lastEventId } from './logs.ts';

export const eventRoutes: Handlers<'streamEvents'> = {
  async streamEvents(call) {
    const { broadcaster, engine, details } = call;
    const after = afterOf(call) ?? (await broadcaster.now());
    const wanted = filterOf(call);
    const run = call.query.run === undefined ? undefined : await findRun(new EngineSnapshot(engine), call.query.run);
    const members = run === undefined ? undefined : new RunMembers(engine, run.root ?? run.task);
    const ofRun = run === undefined ? {} : { runId: run.id };
    const workers = new Set(call.query.worker.map((name) => checkWorkerId('worker', name)));
    return new EventStream(async function* (signal): AsyncGenerator<Message> {
      for await (const page of broadcaster.pages(after, signal)) {
        const asked = page.filter((item) => item.kind === 'reset' || wanted(item.event));
        const events = asked.flatMap((item) => (item.kind === 'reset' ? [] : [item.event]));
        const own = new Set(members === undefined ? events : await members.only(events));
        const some = asked.filter((item) => item.kind === 'reset' || own.has(item.event));
        const facts = await details.of([...own]);
        for (const item of some) {
          // Older events are gone. A reader that builds its state from the stream reads the state again.
          if (item.kind === 'reset') {
            yield { id: String(item.last), event: 'reset', data: { last: item.last } };
            continue;
          }
          const data = { ...eventView(engine, item.event, facts.get(item.event.seq)), ...ofRun };
          if (workers.size > 0 && (data.worker === undefined || !workers.has(data.worker))) continue;
          yield { id: String(item.event.seq), event: nameOf(item.event, call.query.kind), data };
        }
      }
    });
  },
};

/** The name of the message is the word that its reader has asked for, so that it can listen to that name. */
function nameOf(event: FeedEvent, asked: readonly string[]): string {
  const words: readonly string[] = wordsOf(event);
  return asked.find((word) => word === event.change || words.includes(word)) ?? event.change;
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

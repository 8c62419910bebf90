import type { Client } from '../client/client.ts';
import { type FollowSource, followFrom } from '../operate/follow.ts';
import type { Told } from '../operate/sight.ts';
import type { TaskView } from '../operate/views.ts';
import type { LogLine } from '../store/store.ts';
import type { AppFeedItem } from './leasehold.ts';
import { itemOf, itemOfShape } from './remote-app-events.ts';

/** Each has a stream of its own; above this only states are followed. */
const MOST_LOGS = 20;
/** A node looks for so many; of more it tells all that happens, and they are picked out here. */
const MOST_NAMED = 50;
const PAGE = 500;

/** Logs, states and ends of these tasks as they come, over streams that outlive a restart of their node. */
export async function* followRemote(
  client: Client,
  ids: readonly string[],
  options: { readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<Told> {
  const source = sourceOf(client, ids);
  for await (const told of followFrom(source, ids, { ...options, logs: ids.length <= MOST_LOGS })) {
    const { task: id } = told;
    if (told.kind === 'state') yield { kind: 'state', id, state: told.state, attempt: told.attempt, at: told.at };
    else if (told.kind === 'log') yield { kind: 'log', id, line: told.line };
    else yield { kind: 'ended', id, task: told.record };
  }
}

function sourceOf(client: Client, ids: readonly string[]): FollowSource<string, TaskView> {
  return {
    async look(id) {
      const { tasks } = await client.call('listTasks', { query: { id: [id] } });
      return tasks[0] as TaskView | undefined;
    },
    async newest() {
      return (await client.call('readEvents')).last;
    },
    async *events({ after, signal }) {
      // Up to the newest those of all tasks: who follows waits for a number, which may be that of another one.
      let last = after;
      for (let more = true; more; ) {
        const page = await client.call('readEvents', { query: { after: last, limit: PAGE }, signal });
        if (page.reset) yield { kind: 'reset' };
        for (const shape of page.events) yield seenOf(itemOfShape(shape));
        last = page.last;
        more = page.events.length > 0;
      }
      const query = ids.length <= MOST_NAMED ? { task: [...ids] } : {};
      for await (const message of client.stream('streamEvents', { query, last: String(last), signal })) {
        const item = itemOf(message);
        yield item.kind === 'reset' ? item : seenOf(item);
      }
    },
    async *log(id, { signal }) {
      for await (const { data } of client.stream('readLog', { params: { id }, signal })) {
        yield JSON.parse(data) as LogLine;
      }
    },
  };
}

function seenOf(item: Exclude<AppFeedItem, { kind: 'reset' }>) {
  const { seq } = item.event;
  if (item.kind === 'worker') return { kind: 'worker', seq } as const;
  return { kind: 'event', seq, task: item.event.id, event: item.event } as const;
}

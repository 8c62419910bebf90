import { requireTask } from '../../operate/calls/calls.ts';
import { cursorOf, placeOf } from '../../operate/operations/tasks.ts';
import { EventStream } from '../http/answers.ts';
import type { Handlers } from '../http/route-handler.ts';

export const logRoutes: Handlers<'readLog'> = {
  async readLog({ params, query, operator, engine, request }) {
    if (!query.follow) return operator.call('readLog', { params, query });
    // A browser that reconnects sends its position in a header, which is newer than the one in the address.
    const after = placeOf(lastEventId(request.headers['last-event-id']) ?? query.cursor);
    // Without this the stream of an unknown task would end at once, as if the task had logged nothing.
    const { id } = await requireTask(operator, params.id);
    const at = after === undefined ? {} : { after };
    return new EventStream(async function* (signal) {
      for await (const line of engine.logs.follow(engine.parseId(id), { ...at, signal }))
        yield { id: cursorOf(line), data: line };
    });
  },
};

export function lastEventId(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined;
}

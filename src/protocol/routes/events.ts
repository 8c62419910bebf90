import { z } from 'zod';
import { WORDS, WORKER_CHANGES } from '../../core/task/event.ts';
import { CHANGES } from '../../core/task/task.ts';
import { type Route, route } from '../route.ts';
import { digits, Paging, several } from '../shapes/common.ts';
import { Event, EventPage } from '../shapes/event.ts';
import { API } from './address.ts';

/** The event log, by page and as a stream. */
export const EVENT_ROUTES = {
  readEvents: route({
    method: 'GET',
    path: `${API}/events/page`,
    access: 'read',
    does: 'Events after a number, as far as they have happened; without a number only that of the newest event',
    query: z.strictObject({
      after: digits(z.number().min(0)).optional(),
      limit: Paging.limit,
    }),
    answer: EventPage,
  }),
  streamEvents: route({
    method: 'GET',
    path: `${API}/events`,
    access: 'read',
    does: 'Events as a stream. The id of a message is its number; Last-Event-ID or after= goes on after it without gap or repeat',
    query: z.strictObject({
      after: digits(z.number().min(0)).optional().describe('Default: from now on'),
      task: several(z.string()),
      queue: several(z.string()),
      run: z.string().min(1).max(500).optional().describe('The id or name of a run: only events of its tasks'),
      worker: several(z.string()).describe('Events of these workers, by name, and of tasks that they have or had'),
      kind: several(z.enum([...new Set([...CHANGES, ...WORKER_CHANGES, ...WORDS])])).describe(
        'A kind, or one of the words of other programs',
      ),
    }),
    answer: Event,
    stream: 'events',
  }),
} as const satisfies Record<string, Route>;

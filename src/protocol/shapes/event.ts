import { z } from 'zod';
import { TaskState, Time } from './common.ts';

/** One thing that happened to one task; its number is the id of the message. */
export const Event = z
  .object({
    seq: z.number(),
    at: Time,
    kind: z.string().describe('created, assigned, completed, …'),
    task: z.string(),
    queue: z.string(),
    state: TaskState.describe('After it'),
    attempt: z.number(),
  })
  .meta({ id: 'Event' });

export const EventPage = z.object({
  events: z.array(Event).readonly(),
  last: z.number().describe('Give this as after next time'),
  reset: z.boolean().describe('Some of what was asked for is no longer kept: look at the state, and go on'),
});

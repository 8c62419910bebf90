import { z } from 'zod';
import type { WorkerChange } from '../../core/task/event.ts';
import type { Change, Reason } from '../../core/task/task.ts';
import { TaskState, Time, word } from './common.ts';

/** One thing that happened to one task or worker; its number is the id of the message. */
export const Event = z
  .object({
    seq: z.number(),
    at: Time,
    kind: word<Change | WorkerChange>().describe('created, claimed, completed, …; for a worker registered or beat'),
    words: z.array(z.string()).readonly().describe('What others call it: assigned, LEASE_GRANTED, WORKER_HEARTBEAT, …'),
    task: z.string().optional().describe('Its id; absent with events of workers'),
    queue: z.string().optional(),
    runId: z.string().optional().describe('With a filter by run: the id of the run'),
    state: TaskState.optional().describe('After it'),
    attempt: z.number().optional(),
    worker: z.string().optional().describe('The name of the worker: of the event, or of the attempt'),
    host: z.string().optional().describe('Where that worker runs'),
    leaseExpiresAt: Time.optional().describe(
      'Of claimed: when the lease ends unless it is renewed; of expired: when it was taken back',
    ),
    details: z
      .object({ reason: word<Reason>().optional(), error: z.string().optional().describe('The message of the error') })
      .optional()
      .describe('Why the attempt or the task has ended'),
  })
  .meta({ id: 'Event' });

export const EventPage = z.object({
  events: z.array(Event).readonly(),
  last: z.number().describe('The value of after for the next call'),
  reset: z.boolean().describe('Some of the events are no longer kept: read the state, and go on'),
});

import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Purged, PurgeInput, Queue, Retried, RetryInput, Scale } from '../shapes/queue.ts';
import { API, oneQueue } from './address.ts';

/** Queues: counts, scale, pause, and changes to many tasks at once. */
export const QUEUE_ROUTES = {
  listQueues: route({
    method: 'GET',
    path: `${API}/queues`,
    access: 'read',
    does: 'Queues with their counts',
    answer: z.object({ queues: z.array(Queue).readonly() }),
  }),
  getQueue: route({
    method: 'GET',
    path: `${API}/queues/{queue}`,
    access: 'read',
    does: 'One queue with its counts',
    params: oneQueue,
    answer: Queue,
  }),
  scaleQueue: route({
    method: 'GET',
    path: `${API}/queues/{queue}/scale`,
    access: 'read',
    does: 'How many worker slots a queue could use now',
    params: oneQueue,
    answer: Scale,
  }),
  pauseQueue: route({
    method: 'POST',
    path: `${API}/queues/{queue}/pause`,
    access: 'operator',
    does: 'Pauses a queue: no task of it is started',
    params: oneQueue,
    answer: Queue,
  }),
  resumeQueue: route({
    method: 'POST',
    path: `${API}/queues/{queue}/resume`,
    access: 'operator',
    does: 'Tasks of this queue are started again',
    params: oneQueue,
    answer: Queue,
  }),
  purgeQueue: route({
    method: 'POST',
    path: `${API}/queues/{queue}/purge`,
    access: 'operator',
    does: 'Cancels what waits in a queue, from the newest down; what runs goes on',
    params: oneQueue,
    body: PurgeInput,
    answer: Purged,
  }),
  retryQueue: route({
    method: 'POST',
    path: `${API}/queues/{queue}/retry`,
    access: 'operator',
    does: 'Runs finished tasks of a queue again, from the newest down',
    params: oneQueue,
    body: RetryInput,
    answer: Retried,
  }),
} as const satisfies Record<string, Route>;

import { z } from 'zod';
import { Granted, Join, Take } from '../frames.ts';
import { type Route, route } from '../route.ts';
import { Answers, AskInput, Joined } from '../shapes/worker-session.ts';
import { oneSession } from './address.ts';

/** The calls of our own worker where it has no WebSocket. */
export const WORKER_SESSION_ROUTES = {
  joinWorker: route({
    method: 'POST',
    path: '/workers/join',
    access: 'worker',
    does: 'Our own worker begins a session without a WebSocket',
    body: Join,
    answer: Joined,
  }),
  takeTasks: route({
    method: 'POST',
    path: '/workers/{id}/tasks',
    access: 'worker',
    does: 'Claims tasks in that session, as soon as there are some; 204 when none came in time',
    params: oneSession,
    body: Take,
    answer: z.array(Granted).readonly(),
  }),
  askNode: route({
    method: 'POST',
    path: '/workers/{id}/ask',
    access: 'worker',
    does: 'Requests of our own worker in that session: each is answered or refused by itself',
    params: oneSession,
    body: AskInput,
    answer: Answers,
  }),
} as const satisfies Record<string, Route>;

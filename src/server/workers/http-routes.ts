import type { Handlers } from '../http/route-handler.ts';
import { claimFor, ownSession } from './session-calls.ts';

/** The routes of our own worker over plain HTTP. */
export const httpWorkerRoutes: Handlers<'joinWorker' | 'takeTasks' | 'askNode'> = {
  joinWorker: ({ body, httpWorkers, principal, request }) => httpWorkers.join(body, principal, request.ip, request.raw),

  takeTasks: (call) => claimFor(call, (session, hangUp) => call.httpWorkers.take(session, call.body, hangUp)),

  askNode: (call) => call.httpWorkers.ask(ownSession(call, call.params.id), call.body),
};

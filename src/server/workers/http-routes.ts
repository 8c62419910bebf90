import type { Handlers } from '../http/route-handler.ts';
import { claimed, ownSession } from './session-calls.ts';

/** Our own worker over plain HTTP. */
export const httpWorkerRoutes: Handlers<'joinWorker' | 'takeTasks' | 'askNode'> = {
  joinWorker: ({ body, httpWorkers, principal, request }) => httpWorkers.join(body, principal, request.ip),

  takeTasks: (call) => claimed(call, (said, gone) => call.httpWorkers.take(said, call.body, gone)),

  askNode: (call) => call.httpWorkers.ask(ownSession(call, call.params.id), call.body),
};

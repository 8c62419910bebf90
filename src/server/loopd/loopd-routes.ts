import type { Handlers } from '../http/route-handler.ts';
import { claimFor, ownSession, sessionOf } from '../workers/session-calls.ts';

/** The routes of loopd workers. */
export const loopdRoutes: Handlers<'registerWorker' | 'beatWorker' | 'claimSteps' | 'appendEvents' | 'completeStep'> = {
  registerWorker: ({ body, steps, principal, request }) => steps.register(body, principal, request.ip),

  beatWorker: (call) => call.steps.heartbeat(ownSession(call, call.params.id), call.body),

  claimSteps: (call) => claimFor(call, (session, hangUp) => call.steps.claim(session, call.body, hangUp)),

  appendEvents: (call) => call.steps.events(sessionOf(call), call.params.id, call.body),

  completeStep: (call) => call.steps.complete(sessionOf(call), call.params.id, call.body),
};

import type { Handlers } from '../http/route-handler.ts';
import { claimed, ownSession, sessionOf } from '../workers/session-calls.ts';

/** Workers of loopd. */
export const loopdRoutes: Handlers<'registerWorker' | 'beatWorker' | 'claimSteps' | 'appendEvents' | 'completeStep'> = {
  registerWorker: ({ body, steps, principal, request }) => steps.register(body, principal, request.ip),

  beatWorker: (call) => call.steps.heartbeat(ownSession(call, call.params.id), call.body),

  claimSteps: (call) => claimed(call, (said, gone) => call.steps.claim(said, call.body, gone)),

  appendEvents: (call) => call.steps.events(sessionOf(call), call.params.id, call.body),

  completeStep: (call) => call.steps.complete(sessionOf(call), call.params.id, call.body),
};

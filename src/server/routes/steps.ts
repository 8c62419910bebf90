import { once } from 'node:events';
import { fault } from '../../core/errors.ts';
import { notOpen } from '../refusals.ts';
import { type Call, type Handlers, NOTHING } from '../route-handler.ts';
import type { WorkerSession } from '../session-tokens.ts';

type StepRoute = 'beatWorker' | 'claimSteps' | 'askNode' | 'appendEvents' | 'completeStep';

export const stepRoutes: Handlers<'registerWorker' | StepRoute> = {
  registerWorker: ({ body, steps, principal, request }) => steps.register(body, principal, request.ip),

  beatWorker: (call) => call.steps.heartbeat(ownSession(call, call.params.id), call.body),

  async claimSteps(call) {
    const { steps, body, request, reply, closing } = call;
    if (closing.aborted) throw notOpen();
    const said = ownSession(call, call.params.id);
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    request.raw.socket.once('close', leave);
    try {
      const claimed = await steps.claim(said, body, AbortSignal.any([gone.signal, closing]));
      if (claimed.length === 0) return NOTHING;
      // An answer that cannot be written was heard by nobody.
      void Promise.race([
        once(reply.raw, 'finish').then(() => true),
        once(reply.raw, 'close').then(() => reply.raw.writableFinished),
      ])
        .then((written) => (written ? undefined : steps.giveBack(said, claimed)))
        .catch(() => {});
      return claimed;
    } finally {
      request.raw.socket.off('close', leave);
    }
  },

  askNode: (call) => call.steps.ask(ownSession(call, call.params.id), call.body),

  appendEvents: (call) => call.steps.events(sessionOf(call), call.params.id, call.body),

  completeStep: (call) => call.steps.complete(sessionOf(call), call.params.id, call.body),
};

function sessionOf<N extends StepRoute>({ session }: Call<N>): WorkerSession {
  if (session !== undefined) return session;
  throw fault(
    'UNAUTHENTICATED',
    {},
    { hint: 'Register, and send the session_token of the answer as x-session-token.' },
  );
}

function ownSession<N extends StepRoute>(call: Call<N>, worker: string): WorkerSession {
  const session = sessionOf(call);
  if (session.worker === worker) return session;
  throw fault('FORBIDDEN', { problem: 'the session is that of another worker' });
}

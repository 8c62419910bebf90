import { once } from 'node:events';
import { fault } from '../../core/errors.ts';
import { NO_CONTENT } from '../http/answers.ts';
import { notOpen } from '../http/refusals.ts';
import type { Call } from '../http/route-handler.ts';
import type { WorkerSession } from './session-tokens.ts';

/** The calls of a worker over HTTP that has a session. */
type SessionRoute = 'takeTasks' | 'askNode' | 'beatWorker' | 'claimSteps' | 'appendEvents' | 'completeStep';

/** Tasks that were claimed for an answer which nobody hears go back. */
export async function claimed<
  N extends 'takeTasks' | 'claimSteps',
  T extends { readonly task: number; readonly attempt: number },
>(
  call: Call<N>,
  claim: (said: WorkerSession, gone: AbortSignal) => Promise<readonly T[]>,
): Promise<readonly T[] | typeof NO_CONTENT> {
  const { httpWorkers, request, reply, closing } = call;
  if (closing.aborted) throw notOpen();
  const said = ownSession(call, call.params.id);
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  request.raw.socket.once('close', leave);
  try {
    const found = await claim(said, AbortSignal.any([gone.signal, closing]));
    if (found.length === 0) return NO_CONTENT;
    // An answer that cannot be written was heard by nobody.
    void Promise.race([
      once(reply.raw, 'finish').then(() => true),
      once(reply.raw, 'close').then(() => reply.raw.writableFinished),
    ])
      .then((written) => (written ? undefined : httpWorkers.giveBack(said, found)))
      .catch(() => {});
    return found;
  } finally {
    request.raw.socket.off('close', leave);
  }
}

export function sessionOf<N extends SessionRoute>({ session }: Call<N>): WorkerSession {
  if (session !== undefined) return session;
  throw fault(
    'UNAUTHENTICATED',
    {},
    { hint: 'Register, and send the session_token of the answer as x-session-token.' },
  );
}

export function ownSession<N extends SessionRoute>(call: Call<N>, worker: string): WorkerSession {
  const session = sessionOf(call);
  if (session.worker === worker) return session;
  throw fault('FORBIDDEN', { problem: 'the session is that of another worker' });
}

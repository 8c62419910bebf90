import { once } from 'node:events';
import { fault } from '../../core/errors.ts';
import { NO_CONTENT } from '../http/answers.ts';
import { notOpen } from '../http/refusals.ts';
import type { Call } from '../http/route-handler.ts';
import type { WorkerSession } from './session-tokens.ts';

/** The routes of a worker over HTTP that need a session. */
type SessionRoute = 'takeTasks' | 'askNode' | 'beatWorker' | 'claimSteps' | 'appendEvents' | 'completeStep';

/** Claims tasks for an answer, and releases them if the answer cannot be written. */
export async function claimFor<
  N extends 'takeTasks' | 'claimSteps',
  T extends { readonly task: number; readonly attempt: number },
>(
  call: Call<N>,
  claim: (session: WorkerSession, hangUp: AbortSignal) => Promise<readonly T[]>,
): Promise<readonly T[] | typeof NO_CONTENT> {
  const { httpWorkers, request, reply, closing } = call;
  if (closing.aborted) throw notOpen();
  const session = ownSession(call, call.params.id);
  const hangUp = new AbortController();
  const onClose = (): void => hangUp.abort();
  request.raw.socket.once('close', onClose);
  try {
    const tasks = await claim(session, AbortSignal.any([hangUp.signal, closing]));
    if (tasks.length === 0) return NO_CONTENT;
    // An answer that cannot be written reached nobody.
    void Promise.race([
      once(reply.raw, 'finish').then(() => true),
      once(reply.raw, 'close').then(() => reply.raw.writableFinished),
    ])
      .then((written) => (written ? undefined : httpWorkers.giveBack(session, tasks)))
      .catch(() => {});
    return tasks;
  } finally {
    request.raw.socket.off('close', onClose);
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

import { fault } from '../../core/errors.ts';
import { queueOf } from '../../operate/runs/start-run.ts';
import { NO_CONTENT } from '../http/answers.ts';
import type { Handlers } from '../http/route-handler.ts';
import { lastEventId } from '../routes/logs.ts';
import { admit, keyOf } from '../routes/pushing.ts';
import { claimFor, ownSession, sessionOf } from '../workers/session-calls.ts';

/** The routes of loopd workers. */
export const loopdRoutes: Handlers<'registerWorker' | 'beatWorker' | 'claimSteps' | 'appendEvents' | 'completeStep'> = {
  registerWorker: ({ body, steps, principal, request }) => steps.register(body, principal, request.ip),

  beatWorker: (call) => call.steps.heartbeat(ownSession(call, call.params.id), call.body, call.request.raw),

  claimSteps: (call) => claimFor(call, (session, hangUp) => call.steps.claim(session, call.body, hangUp)),

  appendEvents: (call) => call.steps.events(sessionOf(call), call.params.id, call.body),

  completeStep: (call) => call.steps.complete(sessionOf(call), call.params.id, call.body),
};

/** The routes of runs of loops. */
export const loopRoutes: Handlers<
  | 'startLoop'
  | 'listLoops'
  | 'getLoop'
  | 'listLoopSteps'
  | 'pauseLoop'
  | 'resumeLoop'
  | 'cancelLoop'
  | 'retryLoop'
  | 'diffLoop'
  | 'mergeLoop'
  | 'scrapLoop'
  | 'createLoopPr'
  | 'listWorktrees'
  | 'removeWorktree'
  | 'streamLoopEvents'
  | 'streamLoopOutput'
  | 'loopdHealth'
> = {
  async startLoop({ guard, principal, loops, body, request }) {
    await admit({ guard, principal }, [{ queue: queueOf({}) }]);
    return loops.start(body, keyOf('loop', request, principal));
  },
  listLoops: ({ loops, query }) => loops.list(query),
  getLoop: ({ loops, params }) => loops.get(params.id),
  listLoopSteps: ({ loops, params }) => loops.steps(params.id),
  pauseLoop: ({ loops, params }) => loops.pause(params.id).then(() => NO_CONTENT),
  resumeLoop: ({ loops, params }) => loops.resume(params.id).then(() => NO_CONTENT),
  cancelLoop: ({ loops, params, by }) => loops.cancel(params.id, by).then(() => NO_CONTENT),
  retryLoop: ({ loops, params }) => loops.retry(params.id).then(() => NO_CONTENT),
  async diffLoop({ guard, principal, loops, params, closing, observes }) {
    refuseObserver(observes());
    await admit({ guard, principal }, [{ queue: queueOf({}) }]);
    return loops.diff(params.id, closing);
  },
  async mergeLoop({ guard, principal, loops, params, query, closing }) {
    await admit({ guard, principal }, [{ queue: queueOf({}) }]);
    return { commit: await loops.merge(params.id, query.head_ref, closing) };
  },
  async scrapLoop({ guard, principal, loops, params, closing }) {
    await admit({ guard, principal }, [{ queue: queueOf({}) }]);
    return loops.scrap(params.id, closing).then(() => NO_CONTENT);
  },
  createLoopPr: ({ loops, params }) => loops.createPr(params.id),
  async listWorktrees({ guard, principal, loops, query, closing, observes }) {
    if (query.workspace_root !== undefined) {
      refuseObserver(observes());
      await admit({ guard, principal }, [{ queue: queueOf({}) }]);
    }
    return loops.worktrees(query.workspace_root, closing);
  },
  async removeWorktree({ guard, principal, loops, query, closing }) {
    await admit({ guard, principal }, [{ queue: queueOf({}) }]);
    return loops.removeWorktree(query.run_id, closing).then(() => NO_CONTENT);
  },
  streamLoopEvents: ({ loops, params, query, request }) =>
    loops.events(params.id, { ...query, last: placeIn(request.headers['last-event-id']) }),
  // A client that reconnects has a position that is newer than the one in its address.
  streamLoopOutput: ({ loops, params, query, request }) =>
    loops.output(params.id, placeIn(request.headers['last-event-id']) ?? query.offset ?? 0),
  loopdHealth: () => ({ status: 'ok' }),
};

/** A question that a worker answers is a task, and a node that observes pushes none. */
function refuseObserver(observes: boolean): void {
  if (observes) throw fault('READ_ONLY');
}

function placeIn(header: string | readonly string[] | undefined): number | undefined {
  const last = lastEventId(header);
  if (last === undefined) return undefined;
  if (/^\d{1,15}$/.test(last)) return Number(last);
  throw fault('INVALID_INPUT', { field: 'Last-Event-ID', problem: 'it is the number of an event' });
}

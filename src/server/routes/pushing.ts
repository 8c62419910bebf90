import type { FastifyRequest } from 'fastify';
import { fault } from '../../core/errors.ts';
import { EngineSnapshot } from '../../operate/engine-snapshot.ts';
import { findRun } from '../../operate/runs/find-run.ts';
import { withDefinition } from '../../operate/runs/known-definition.ts';
import { queueOf } from '../../operate/runs/start-run.ts';
import { hashOf } from '../../operate/secrets.ts';
import { callerOf, type Principal } from '../auth/access.ts';
import type { PushGuard } from '../auth/push-guard.ts';
import type { Handlers } from '../http/route-handler.ts';

export const pushRoutes: Handlers<'pushTasks' | 'pushGraph' | 'startRun' | 'forkRun'> = {
  async pushTasks({ body, operator, request, principal, guard }) {
    await admit({ guard, principal }, 'tasks' in body ? body.tasks : [body]);
    return operator.call('pushTasks', { body, key: keyOf('http', request, principal) });
  },

  async pushGraph({ body, operator, request, principal, guard }) {
    await admit({ guard, principal }, body.tasks);
    return operator.call('pushGraph', { body, key: keyOf('graph', request, principal) });
  },

  async startRun({ body, engine, operator, request, principal, guard }) {
    // Whether it is a machine or a graph says in which queue it is.
    const start = await withDefinition(new EngineSnapshot(engine), body);
    await admit({ guard, principal }, [{ queue: queueOf(start) }]);
    return operator.call('startRun', { body: start, key: keyOf('run', request, principal) });
  },

  async forkRun({ params, body, engine, operator, principal, guard }) {
    await admit({ guard, principal }, [await findRun(new EngineSnapshot(engine), params.id)]);
    return operator.call('forkRun', { params, body });
  },
};

/** Every push over the network passes here first, whichever protocol it comes by. */
export async function admit(
  { guard, principal }: { readonly guard: PushGuard; readonly principal: Principal },
  requests: readonly { readonly queue: string }[],
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { queue } of requests) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  await guard.admit(callerOf(principal), counts);
}

const MAX_KEY = 200;

/**
 * The operation id for an idempotency key: short and plain, and unique to the caller. Keys of tasks and of graphs are apart.
 * A rotated token keeps its name, and so its keys.
 */
export function keyOf(
  kind: 'http' | 'graph' | 'run' | 'loop' | 'trigger',
  { headers }: FastifyRequest,
  { name, token }: Principal,
): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || header.length === 0 || header.length > MAX_KEY) {
    throw fault('INVALID_INPUT', { field: 'Idempotency-Key', problem: `it has between 1 and ${MAX_KEY} characters` });
  }
  return `${kind}:${hashOf(JSON.stringify([token === undefined ? 'node' : 'token', name, header]))}`;
}

import type { BodyOf } from '../../protocol/routes.ts';
import type { Desk, Sweep } from '../desk.ts';
import type { Handlers } from '../route-handler.ts';

export const queueRoutes: Handlers<
  'listQueues' | 'getQueue' | 'scaleQueue' | 'pauseQueue' | 'resumeQueue' | 'purgeQueue' | 'retryQueue'
> = {
  async listQueues({ desk }) {
    return { queues: await desk().queues() };
  },

  getQueue: ({ params, desk }) => desk().queue(params.queue),

  async scaleQueue({ params, engine }) {
    const { runnable, running, blockedByLimit, oldestAgeMs, desired } = await engine.scale(params.queue);
    const oldest = Math.round(oldestAgeMs) / 1000;
    return { runnable, running, blocked_by_limit: blockedByLimit, oldest_age_s: oldest, desired };
  },

  async pauseQueue({ params, desk }) {
    await desk().pause(params.queue);
    return desk().queue(params.queue);
  },

  async resumeQueue({ params, desk }) {
    await desk().resume(params.queue);
    return desk().queue(params.queue);
  },

  purgeQueue({ params, body, desk }) {
    const own = desk();
    return own.purge(params.queue, sweepOf(own, body));
  },

  retryQueue({ params, body, desk }) {
    const own = desk();
    return own.retryAll(params.queue, body.states, sweepOf(own, body));
  },
};

function sweepOf(desk: Desk, { dryRun, expected, limit, cursor }: BodyOf<'purgeQueue'>): Sweep {
  return { dryRun, expected, limit, before: cursor === undefined ? undefined : desk.numberOf(cursor) };
}

import type { Handlers } from '../route-handler.ts';

export const queueRoutes: Handlers<'listQueues' | 'pauseQueue' | 'resumeQueue' | 'purgeQueue'> = {
  async listQueues({ desk }) {
    return { queues: await desk().queues() };
  },

  async pauseQueue({ params, desk }) {
    await desk().pause(params.queue);
    return desk().queue(params.queue);
  },

  async resumeQueue({ params, desk }) {
    await desk().resume(params.queue);
    return desk().queue(params.queue);
  },

  purgeQueue: ({ params, body, desk }) => desk().purge(params.queue, body),
};

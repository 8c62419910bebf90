import { joinOf } from '../../operate/calls/join.ts';
import type { Handlers } from '../http/route-handler.ts';

export const workerRoutes: Handlers<'createWorker' | 'enrolWorker'> = {
  async createWorker({ body, operator, by, address }) {
    const made = await operator.call('createWorker', { body, by });
    return { ...made, join: joinOf(address, made) };
  },

  enrolWorker: ({ body, enrolment }) => enrolment.exchange(body.code),
};

import { joinOf } from '../../operate/calls/join.ts';
import { requireUnchosen } from '../credentials/choice-guard.ts';
import type { Handlers } from '../http/route-handler.ts';

export const workerRoutes: Handlers<'createWorker' | 'editWorker' | 'enrolWorker' | 'rotateWorker'> = {
  async createWorker({ body, operator, by, address, engine, principal }) {
    await requireUnchosen(engine, principal, { name: body.name, addTags: body.tags, showsSecret: true });
    const made = await operator.call('createWorker', { body, by });
    return { ...made, join: joinOf(address, made) };
  },

  async editWorker({ params, body, operator, by, engine, principal }) {
    await requireUnchosen(engine, principal, { ...params, addTags: body.addTags, showsSecret: false });
    return operator.call('editWorker', { params, body, by });
  },

  async rotateWorker({ params, body, operator, by, engine, principal }) {
    await requireUnchosen(engine, principal, { ...params, showsSecret: true });
    return operator.call('rotateWorker', { params, body, by });
  },

  enrolWorker: ({ body, enrolment }) => enrolment.exchange(body.code),
};

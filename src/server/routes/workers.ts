import { parseDuration } from '../../core/duration.ts';
import type { Handlers } from '../route-handler.ts';

export const workerRoutes: Handlers<
  'listWorkers' | 'createWorker' | 'enrolWorker' | 'rotateWorker' | 'removeWorker' | 'editWorker' | 'listTags'
> = {
  async listWorkers({ desk }) {
    const own = desk();
    return { workers: await own.workers(), absent: await own.fleet.strays() };
  },

  async createWorker({ body: { name, ...worker }, desk, principal, address }) {
    const made = await desk().fleet.create(name, worker, principal.name);
    const proof = made.code === undefined ? `--name ${name} --secret ${made.secret}` : `--code ${made.code}`;
    return { ...made, join: `leasehold worker --join ${address} ${proof}` };
  },

  enrolWorker: ({ body, enrolment }) => enrolment.exchange(body.code),

  rotateWorker: ({ params, body, desk, principal }) =>
    desk().fleet.rotate(params.name, parseDuration(body.grace, 'grace'), principal.name),

  async removeWorker({ params, desk }) {
    return { removed: true, secrets: await desk().fleet.remove(params.name) };
  },

  async editWorker({ params, body, desk }) {
    const { fleet } = desk();
    const { enabled, priority, addTags: add = [], removeTags: remove = [] } = body;
    const edit = { ...(enabled === undefined ? {} : { enabled }), ...(priority === undefined ? {} : { priority }) };
    if (add.length + remove.length > 0) await fleet.tag(params.name, { add, remove });
    const [setting] =
      Object.keys(edit).length > 0 ? await fleet.set([params.name], edit) : await fleet.look([params.name]);
    const { name, tags, workers, running, ...rest } = setting as NonNullable<typeof setting>;
    return { name, tags, workers, running, ...rest };
  },

  async listTags({ desk }) {
    return { tags: await desk().fleet.tags() };
  },
};

import { parseDuration } from '../../core/duration.ts';
import { checkWorkerId } from '../../core/names.ts';
import type { Handlers } from '../route-handler.ts';

export const workerRoutes: Handlers<
  | 'listWorkers'
  | 'getWorker'
  | 'createWorker'
  | 'enrolWorker'
  | 'rotateWorker'
  | 'removeWorker'
  | 'editWorker'
  | 'listTags'
> = {
  async listWorkers({ desk }) {
    const own = desk();
    return { workers: await own.workers(), absent: await own.fleet.strays() };
  },

  getWorker: ({ params, desk }) => desk().worker(checkWorkerId('worker name', params.name)),

  async createWorker({ body: { name, ...worker }, desk, by, address }) {
    const made = await desk().fleet.create(name, worker, by);
    const proof = made.code === undefined ? `--name ${name} --secret ${made.secret}` : `--code ${made.code}`;
    return { ...made, join: `leasehold worker --join ${address} ${proof}` };
  },

  enrolWorker: ({ body, enrolment }) => enrolment.exchange(body.code),

  rotateWorker: ({ params, body, desk, by }) =>
    desk().fleet.rotate(params.name, parseDuration(body.grace, 'grace'), by),

  async removeWorker({ params, desk }) {
    return { removed: true, secrets: await desk().fleet.remove(params.name) };
  },

  async editWorker({ params, body, desk, engine }) {
    const { fleet } = desk();
    const name = checkWorkerId('worker name', params.name);
    await engine.setWorker({ name, ...body });
    const [setting] = await fleet.look([name]);
    return setting as NonNullable<typeof setting>;
  },

  async listTags({ desk }) {
    return { tags: await desk().fleet.tags() };
  },
};

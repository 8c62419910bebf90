import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import type { Handlers } from '../route-handler.ts';

export const workerRoutes: Handlers<
  'listWorkers' | 'createWorker' | 'enrolWorker' | 'rotateWorker' | 'removeWorker' | 'editWorker' | 'listTags'
> = {
  async listWorkers({ desk }) {
    const own = desk();
    return { workers: await own.workers(), absent: await own.fleet.strays() };
  },

  async createWorker({ body, desk, enrolment, principal, address }) {
    const { name, tags, priority, code: asCode } = body;
    if (await enrolment.knows(name)) {
      const hint = 'Rotate its secret, or remove it first.';
      throw fault('CONFLICT', { problem: `there is a worker ${name} already` }, { hint });
    }
    const { fleet } = desk();
    // Before the secret: who has one may come at once, and must find what it was given.
    await fleet.set([name], { enabled: true, ...(priority === undefined ? {} : { priority }) });
    if (tags.length > 0) await fleet.tag(name, { add: tags, remove: [] });
    const secret = asCode
      ? { code: await enrolment.code(name, principal.name) }
      : { secret: await enrolment.secret(name, principal.name) };
    const proof = 'code' in secret ? `--code ${secret.code}` : `--name ${name} --secret ${secret.secret}`;
    const [setting] = await fleet.look([name]);
    return {
      ...(setting as NonNullable<typeof setting>),
      ...secret,
      join: `leasehold worker --join ${address} ${proof}`,
    };
  },

  enrolWorker: ({ body, enrolment }) => enrolment.exchange(body.code),

  async rotateWorker({ params, body, enrolment, principal }) {
    if (!(await enrolment.knows(params.name))) throw fault('NOT_FOUND', { kind: 'worker', id: params.name });
    const secret = await enrolment.secret(params.name, principal.name, parseDuration(body.grace, 'grace'));
    return { name: params.name, secret };
  },

  async removeWorker({ params, enrolment }) {
    return { removed: true, secrets: await enrolment.remove(params.name) };
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

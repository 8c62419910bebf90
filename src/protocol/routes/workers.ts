import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Duration } from '../shapes/common.ts';
import {
  Enrolled,
  NewWorkerAnswer,
  NewWorkerInput,
  Worker,
  WorkerDetail,
  WorkerEdit,
  WorkerSetting,
} from '../shapes/worker.ts';
import { API, oneWorker } from './address.ts';

/** Workers as an operator sees them: settings, secrets, tags. */
export const WORKER_ROUTES = {
  listWorkers: route({
    method: 'GET',
    path: `${API}/workers`,
    access: 'read',
    does: 'Worker processes, and settings of names that no worker has now',
    answer: z.object({
      workers: z.array(Worker).readonly(),
      absent: z.array(WorkerSetting).readonly(),
      settings: z.array(WorkerSetting).readonly().describe('All names that have settings'),
    }),
  }),
  getWorker: route({
    method: 'GET',
    path: `${API}/workers/{name}`,
    access: 'read',
    does: 'The settings of a worker by its name, and the processes of that name',
    params: oneWorker,
    answer: WorkerDetail,
  }),
  editWorker: route({
    method: 'PATCH',
    path: `${API}/workers/{name}`,
    access: 'operator',
    does: 'Enables, disables, ranks and tags a worker by its name, and grants it what it may do',
    params: oneWorker,
    body: WorkerEdit,
    answer: WorkerSetting,
  }),
  createWorker: route({
    method: 'POST',
    path: `${API}/workers`,
    access: 'operator',
    does: 'Enrols a worker on another host. Its secret, or a code for it, is shown only now',
    body: NewWorkerInput,
    answer: NewWorkerAnswer,
    status: 201,
  }),
  enrolWorker: route({
    method: 'POST',
    path: `${API}/workers/enrol`,
    access: 'open',
    does: 'Exchanges the code of a worker for its secret, once',
    // A worker says it, perhaps a newer one: see frames.ts.
    body: z.object({ code: z.string().max(512) }),
    answer: Enrolled,
    status: 201,
  }),
  rotateWorker: route({
    method: 'POST',
    path: `${API}/workers/{name}/rotate`,
    access: 'operator',
    does: 'Makes another secret for a worker; the old one stays valid for the grace',
    params: oneWorker,
    body: z.strictObject({ grace: Duration.default(0) }),
    answer: Enrolled,
    status: 201,
  }),
  removeWorker: route({
    method: 'DELETE',
    path: `${API}/workers/{name}`,
    access: 'operator',
    does: 'Ends the secrets of a worker and drops the settings of its name; it is cut off within a second',
    params: oneWorker,
    answer: z.object({ removed: z.literal(true), secrets: z.number() }),
  }),
} as const satisfies Record<string, Route>;

import { z } from 'zod';
import { type Route, route } from '../route.ts';
import {
  ClaimInput,
  Completed,
  CompleteInput,
  Heartbeat,
  HeartbeatInput,
  Registered,
  RegisterInput,
  Step,
  StepEventsInput,
} from '../shapes/step.ts';
import { oneSession, oneTask } from './address.ts';

/** The calls of loopd workers: a session, claimed steps, their logs and ends. */
export const LOOPD_ROUTES = {
  registerWorker: route({
    method: 'POST',
    path: '/workers/register',
    access: 'worker',
    does: 'A worker of loopd begins a session',
    body: RegisterInput,
    answer: Registered,
  }),
  beatWorker: route({
    method: 'POST',
    path: '/workers/{id}/heartbeat',
    access: 'worker',
    does: 'A heartbeat that renews the leases it names; the answer names those that are lost or to be cancelled',
    params: oneSession,
    body: HeartbeatInput,
    answer: Heartbeat,
  }),
  claimSteps: route({
    method: 'POST',
    path: '/workers/{id}/claim',
    access: 'worker',
    does: 'Claims tasks, as soon as there are some; 204 when none came in time',
    params: oneSession,
    body: ClaimInput,
    answer: z.array(Step).readonly(),
  }),
  appendEvents: route({
    method: 'POST',
    path: '/steps/{id}/events',
    access: 'worker',
    does: 'Appends lines to the log of a running task; repeats are harmless',
    params: oneTask,
    body: StepEventsInput,
    answer: z.object({ acked_seq: z.number() }),
  }),
  completeStep: route({
    method: 'POST',
    path: '/steps/{id}/complete',
    access: 'worker',
    does: 'Reports how a task has ended; 409 LEASE_LOST when another worker has it: stop',
    params: oneTask,
    body: CompleteInput,
    answer: Completed,
  }),
} as const satisfies Record<string, Route>;

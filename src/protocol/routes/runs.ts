import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Paging, pathName, several, TaskState } from '../shapes/common.ts';
import {
  Budget,
  BudgetInput,
  Run,
  RunCancelInput,
  RunCheck,
  RunDetail,
  RunForkInput,
  RunInput,
  RunStep,
  RunStepDetail,
} from '../shapes/run.ts';
import { API } from './address.ts';

const oneRun = z.strictObject({ id: pathName('The id of a run, or its name') });
const oneStep = z.strictObject({ id: pathName('The id of a run, or its name'), key: pathName('The key of a step') });

/** Runs: root tasks with their trees. */
export const RUN_ROUTES = {
  startRun: route({
    method: 'POST',
    path: `${API}/runs`,
    access: 'operator',
    does: 'Starts a run of a machine, of a graph, or of a workflow in code. Under a name that is taken: goes on with that run, or answers it',
    body: RunInput,
    answer: Run.extend({ fresh: z.boolean() }),
    status: 201,
    repeatable: true,
  }),
  checkRun: route({
    method: 'POST',
    path: `${API}/runs/check`,
    access: 'operator',
    onObserver: true,
    does: 'Reads the text of a machine or of a graph, YAML or JSON, and says all that is wrong with it; starts nothing',
    body: z.strictObject({ text: z.string().max(262_144) }),
    answer: RunCheck,
  }),
  listRuns: route({
    method: 'GET',
    path: `${API}/runs`,
    access: 'read',
    does: 'Runs, the newest first',
    query: z.strictObject({
      state: several(TaskState),
      kind: z.string().max(40).optional(),
      name: z.string().max(255).optional().describe('What its name begins with'),
      title: z.string().max(255).optional(),
      ...Paging,
    }),
    answer: z.object({ runs: z.array(Run).readonly(), cursor: z.string().optional() }),
  }),
  getRun: route({
    method: 'GET',
    path: `${API}/runs/{id}`,
    access: 'read',
    does: 'A run: how it stands, what it waits for, what it has used',
    params: oneRun,
    answer: RunDetail,
  }),
  listRunSteps: route({
    method: 'GET',
    path: `${API}/runs/{id}/steps`,
    access: 'read',
    does: 'What the tasks of a run have done, without values: a waterfall',
    params: oneRun,
    query: z.strictObject({
      task: z.string().max(100).optional().describe('Of this task alone'),
      limit: Paging.limit,
      // It names a task and the key of an entry.
      cursor: z.string().max(600).optional().describe('The cursor of the page before'),
    }),
    answer: z.object({ steps: z.array(RunStep).readonly(), cursor: z.string().optional() }),
  }),
  getRunStep: route({
    method: 'GET',
    path: `${API}/runs/{id}/steps/{key}`,
    access: 'read',
    does: 'One step with what it was given, what it gave, and the context after it',
    params: oneStep,
    query: z.strictObject({
      task: z.string().max(100).optional().describe('The task whose step it is; default: the root'),
    }),
    answer: RunStepDetail,
  }),
  cancelRun: route({
    method: 'POST',
    path: `${API}/runs/{id}/cancel`,
    access: 'operator',
    does: 'Cancels a run with all its tasks, and keeps the reason',
    params: oneRun,
    body: RunCancelInput,
    answer: Run,
  }),
  retryRun: route({
    method: 'POST',
    path: `${API}/runs/{id}/retry`,
    access: 'operator',
    does: 'Goes on with a run that failed or was cancelled, where it stopped',
    params: oneRun,
    answer: Run,
  }),
  forkRun: route({
    method: 'POST',
    path: `${API}/runs/{id}/fork`,
    access: 'operator',
    does: 'Starts another run from a step of this one, with other entries in its context',
    params: oneRun,
    body: RunForkInput,
    answer: Run,
    status: 201,
  }),
  setRunBudget: route({
    method: 'POST',
    path: `${API}/runs/{id}/budgets`,
    access: 'operator',
    does: 'Sets or raises a budget of a run. Tasks that wait for it go on',
    params: oneRun,
    body: BudgetInput,
    answer: z.object({ budgets: z.array(Budget).readonly() }),
  }),
} as const satisfies Record<string, Route>;

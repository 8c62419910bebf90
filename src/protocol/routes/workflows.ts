import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { digits, Json, Paging, pathName } from '../shapes/common.ts';
import { Run } from '../shapes/run.ts';
import {
  AppliedWorkflow,
  Workflow,
  WorkflowCheck,
  WorkflowDetail,
  WorkflowInput,
  WorkflowRestoreInput,
  WorkflowRunInput,
  WorkflowVersion,
  WorkflowVersionDetail,
} from '../shapes/workflow.ts';
import { API } from './address.ts';

const oneWorkflow = z.strictObject({ name: pathName('The name of a workflow') });
const oneVersion = z.strictObject({
  name: pathName('The name of a workflow'),
  version: digits(z.number().min(1)).describe('The number of a version'),
});

/** Workflows that the server keeps, with their versions. */
export const WORKFLOW_ROUTES = {
  listWorkflows: route({
    method: 'GET',
    path: `${API}/workflows`,
    access: 'read',
    does: 'Stored workflows by name, each with its newest version and its triggers',
    query: z.strictObject({ ...Paging }),
    answer: z.object({ workflows: z.array(Workflow).readonly(), cursor: z.string().optional() }),
  }),
  applyWorkflow: route({
    method: 'POST',
    path: `${API}/workflows`,
    access: 'operator',
    does: 'Stores a workflow, or a new version of the one of its name. One that says the same has no new version',
    body: WorkflowInput,
    answer: AppliedWorkflow,
  }),
  checkWorkflow: route({
    method: 'POST',
    path: `${API}/workflows/check`,
    access: 'operator',
    does: 'Says all that is wrong with a workflow, and stores nothing',
    body: z.strictObject({ workflow: Json }),
    answer: WorkflowCheck,
  }),
  getWorkflow: route({
    method: 'GET',
    path: `${API}/workflows/{name}`,
    access: 'read',
    does: 'A stored workflow with its text',
    params: oneWorkflow,
    answer: WorkflowDetail,
  }),
  removeWorkflow: route({
    method: 'DELETE',
    path: `${API}/workflows/{name}`,
    access: 'operator',
    does: 'Removes a workflow with its versions and schedules; its runs stay',
    params: oneWorkflow,
    answer: Workflow,
  }),
  enableWorkflow: route({
    method: 'POST',
    path: `${API}/workflows/{name}/enable`,
    access: 'operator',
    does: 'Lets the triggers of a workflow start runs. What is past due fires at once',
    params: oneWorkflow,
    answer: Workflow,
  }),
  disableWorkflow: route({
    method: 'POST',
    path: `${API}/workflows/{name}/disable`,
    access: 'operator',
    does: 'Lets the triggers of a workflow start nothing more; its runs go on',
    params: oneWorkflow,
    answer: Workflow,
  }),
  listWorkflowVersions: route({
    method: 'GET',
    path: `${API}/workflows/{name}/versions`,
    access: 'read',
    does: 'The versions of a workflow, the newest first: who made them and when',
    params: oneWorkflow,
    query: z.strictObject({ ...Paging }),
    answer: z.object({ versions: z.array(WorkflowVersion).readonly(), cursor: z.string().optional() }),
  }),
  getWorkflowVersion: route({
    method: 'GET',
    path: `${API}/workflows/{name}/versions/{version}`,
    access: 'read',
    does: 'One version of a workflow with its text',
    params: oneVersion,
    answer: WorkflowVersionDetail,
  }),
  restoreWorkflow: route({
    method: 'POST',
    path: `${API}/workflows/{name}/versions/{version}/restore`,
    access: 'operator',
    does: 'Makes the text of an old version the newest again, as a new version',
    params: oneVersion,
    body: WorkflowRestoreInput,
    answer: AppliedWorkflow,
  }),
  runWorkflow: route({
    method: 'POST',
    path: `${API}/workflows/{name}/runs`,
    access: 'operator',
    does: 'Starts a run of a stored workflow, also of one that is off',
    params: oneWorkflow,
    body: WorkflowRunInput,
    answer: Run.extend({ fresh: z.boolean() }),
    status: 201,
    repeatable: true,
  }),
} as const satisfies Record<string, Route>;

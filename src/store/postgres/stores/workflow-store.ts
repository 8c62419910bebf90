import type { WorkflowStore } from '../../store.ts';
import { getWorkflow, listVersions, listWorkflows, putWorkflow, removeWorkflow } from '../verbs/admin/workflow.ts';
import type { StoreParts } from './store-parts.ts';

export function workflowStore({ calls }: StoreParts): WorkflowStore {
  return {
    workflowPut: (params) => calls.edit('workflowPut', (session) => putWorkflow(session, params)),
    workflowGet: ({ name }) => calls.run((session) => getWorkflow(session, name)),
    workflowList: ({ after, limit }) => calls.run((session) => listWorkflows(session, after, limit)),
    workflowVersions: ({ name, before, limit }) => calls.run((session) => listVersions(session, name, before, limit)),
    workflowRemove: ({ name, revision }) =>
      calls.edit('workflowRemove', (session) => removeWorkflow(session, name, revision)),
  };
}

import type { WorkflowStore } from '../../store.ts';
import { getWorkflow, listVersions, listWorkflows, putWorkflow, removeWorkflow } from '../verbs/admin/workflow.ts';
import type { StoreParts } from './store-parts.ts';

export function workflowStore({ writer }: StoreParts): WorkflowStore {
  return {
    workflowPut: (params) => writer.write('rest', (tx) => putWorkflow(tx, params)),
    workflowGet: ({ name }) => writer.read(({ sql }) => getWorkflow(sql, name)),
    workflowList: ({ after, limit }) => writer.read(({ sql }) => listWorkflows(sql, after, limit)),
    workflowVersions: ({ name, before, limit }) => writer.read(({ sql }) => listVersions(sql, name, before, limit)),
    workflowRemove: ({ name, revision }) => writer.write('rest', (tx) => removeWorkflow(tx, name, revision)),
  };
}

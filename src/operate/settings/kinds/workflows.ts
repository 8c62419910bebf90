import { z } from 'zod';
import type { Entry } from '../../../core/settings/compare.ts';
import { checkWorkflow } from '../../../engine/workflows.ts';
import type { WorkflowView } from '../../views.ts';
import { inShape, plain } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

const Workflow = z.strictObject({ enabled: z.boolean().default(true), workflow: z.record(z.string(), z.unknown()) });

/** Stored workflows, by their newest version. */
export const WORKFLOWS: SettingsKind = {
  word: 'workflows',

  read(name, value) {
    checkWorkflow(name);
    const { enabled, workflow } = inShape(Workflow, `workflows.${name}`, value);
    return entryOf(workflow, enabled);
  },

  async list(caller) {
    const found = new Map<string, Entry>();
    for (let cursor: string | undefined; ; ) {
      const page = await caller.call('listWorkflows', { query: cursor === undefined ? {} : { cursor } });
      for (const { name, enabled } of page.workflows satisfies readonly WorkflowView[]) {
        const { workflow } = await caller.call('getWorkflow', { params: { name } });
        found.set(name, entryOf(workflow, enabled));
      }
      cursor = page.cursor;
      if (cursor === undefined) return found;
    }
  },

  async put(caller, { name, wanted, by }) {
    const { enabled = true, workflow } = wanted as { readonly enabled?: boolean; readonly workflow: unknown };
    await caller.call('applyWorkflow', { body: { name, workflow, enabled }, by });
    return undefined;
  },

  remove: (caller, name, by) => caller.call('removeWorkflow', { params: { name }, by }),
};

const entryOf = (workflow: unknown, enabled: boolean): Entry => plain({ workflow, ...(enabled ? {} : { enabled }) });

import { fault } from '../../core/errors.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { WorkflowView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { viewOne } from '../runs/run-view.ts';
import { startRead } from '../runs/start-run.ts';
import { readJson } from '../views.ts';
import { applyWorkflow, checkWorkflowText, findVersion, restoreWorkflow } from '../workflows/apply.ts';
import {
  changeWorkflow,
  findWorkflow,
  graphOf,
  labelsOf,
  storedWorkflow,
  textOf,
  triggersIn,
} from '../workflows/stored.ts';
import { versionView, viewWorkflow, workflowView } from '../workflows/view.ts';
import type { Operations } from './operation.ts';

/** Stored workflows. */
export const workflowOperations = {
  async listWorkflows({ engine }, { query: { cursor = '', limit = PER_PAGE } = {} }) {
    const [found, schedules] = await Promise.all([
      engine.workflows.list({ after: cursor, limit }),
      engine.schedules.list(),
    ]);
    const workflows = found.map((record) => workflowView(record, schedules));
    return { workflows, ...(found.length < limit ? {} : { cursor: (found.at(-1) as { name: string }).name }) };
  },

  applyWorkflow: (snapshot, { body, by }) => applyWorkflow(snapshot, body, known(by)),

  checkWorkflow: (snapshot, { body: { workflow } }) => checkWorkflowText(snapshot, workflow),

  async getWorkflow(snapshot, { params: { name } }) {
    const record = await findWorkflow(snapshot, name);
    const workflow = readJson(await textOf(snapshot, record.definition));
    return { ...(await viewWorkflow(snapshot, record)), workflow };
  },

  async removeWorkflow(snapshot, { params: { name } }) {
    for (;;) {
      const record = await findWorkflow(snapshot, name);
      const before = await viewWorkflow(snapshot, record);
      if ((await snapshot.engine.workflows.remove(name, record.revision)).kind === 'done') return before;
    }
  },

  enableWorkflow: (snapshot, { params: { name } }) => turn(snapshot, name, true),
  disableWorkflow: (snapshot, { params: { name } }) => turn(snapshot, name, false),

  async listWorkflowVersions(snapshot, { params: { name }, query: { cursor, limit = PER_PAGE } = {} }) {
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not the cursor of a page' });
    }
    await findWorkflow(snapshot, name);
    const before = cursor === undefined ? undefined : Number(cursor);
    const found = await snapshot.engine.workflows.versions(name, { before, limit });
    const last = found.at(-1);
    return {
      versions: found.map(versionView),
      ...(last === undefined || last.version === 1 ? {} : { cursor: String(last.version) }),
    };
  },

  async getWorkflowVersion(snapshot, { params: { name, version } }) {
    await findWorkflow(snapshot, name);
    const found = await findVersion(snapshot, name, version);
    return { ...versionView(found), workflow: readJson(await textOf(snapshot, found.definition)) };
  },

  restoreWorkflow: (snapshot, { params, body, by }) => restoreWorkflow(snapshot, params, body, known(by)),

  async runWorkflow(snapshot, { params: { name }, body: { version: wanted, ...start }, key }) {
    const record = await findWorkflow(snapshot, name);
    const { version, definition } = wanted === undefined ? record : await findVersion(snapshot, name, wanted);
    const graph = graphOf(name, readJson(await textOf(snapshot, definition)) as never);
    const labels = { ...start.labels, ...labelsOf(name, version) };
    const begin = { start: { ...start, labels }, graph, definition: { hash: definition }, title: name };
    const { run, fresh } = await startRead(snapshot, begin, key);
    return { ...(await viewOne(snapshot, run)), fresh };
  },
} satisfies Operations;

/** A repeat changes nothing. */
async function turn(snapshot: EngineSnapshot, name: string, enabled: boolean): Promise<WorkflowView> {
  await changeWorkflow(snapshot, name, async () => {
    const record = await findWorkflow(snapshot, name);
    if (record.enabled === enabled) return { answer: undefined };
    const { revision, version, definition } = record;
    const { graph } = await storedWorkflow(snapshot, record);
    const triggers = triggersIn(name, version, definition, graph);
    return { change: { name, revision, enabled, triggers }, answer: undefined };
  });
  return viewWorkflow(snapshot, await findWorkflow(snapshot, name));
}

const known = (by: string | undefined): string | undefined => (by === '' ? undefined : by);

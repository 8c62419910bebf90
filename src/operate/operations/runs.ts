import { fault } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import { checkRun } from '../runs/check-run.ts';
import { findRun } from '../runs/find-run.ts';
import { forkRun } from '../runs/fork-run.ts';
import { withDefinition } from '../runs/known-definition.ts';
import { setBudgets } from '../runs/run-budgets.ts';
import { runDetail } from '../runs/run-detail.ts';
import { viewOne, viewRuns } from '../runs/run-view.ts';
import { startRun } from '../runs/start-run.ts';
import { memberOf, stepDetail } from '../runs/step-detail.ts';
import { stepPage } from '../runs/steps.ts';
import type { Operations } from './operation.ts';

/** Runs: root tasks with their trees. */
export const runOperations = {
  async startRun(snapshot, { body, key }) {
    const { run, fresh } = await startRun(snapshot, await withDefinition(snapshot, body), key);
    return { ...(await viewOne(snapshot, run)), fresh };
  },

  checkRun: (_snapshot, { body: { text } }) => checkRun(text),

  async listRuns(snapshot, { query = {} }) {
    const { state: states = [], kind, name, title, cursor, limit = PER_PAGE } = query;
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not the cursor of a page' });
    }
    const { runs, next } = await snapshot.engine.runs.list({
      limit,
      ...(cursor === undefined ? {} : { before: Number(cursor) }),
      ...(states.length === 0 ? {} : { states }),
      ...(kind === undefined ? {} : { kind }),
      ...(name === undefined ? {} : { name }),
      ...(title === undefined ? {} : { title }),
    });
    return { runs: await viewRuns(snapshot, runs), ...(next === undefined ? {} : { cursor: String(next) }) };
  },

  getRun: async (snapshot, { params: { id } }) => runDetail(snapshot, await findRun(snapshot, id)),

  async listRunSteps(snapshot, { params: { id }, query: { task, cursor, limit = PER_PAGE } = {} }) {
    const run = await findRun(snapshot, id);
    const only = task === undefined ? undefined : snapshot.numberOf(task);
    if (only !== undefined) await memberOf(snapshot, run, only);
    return stepPage(snapshot, run, { task: only, cursor, limit });
  },

  async getRunStep(snapshot, { params: { id, key }, query: { task } = {} }) {
    const run = await findRun(snapshot, id);
    return stepDetail(snapshot, run, { key, task: task === undefined ? run.task : snapshot.numberOf(task) });
  },

  async cancelRun(snapshot, { params: { id }, body: { reason }, by = '', signal }) {
    const run = await findRun(snapshot, id);
    await snapshot.engine.runs.cancel(run.task, {
      ...(reason === undefined ? {} : { why: reason }),
      ...(by === '' ? {} : { by }),
      ...(signal === undefined ? {} : { signal }),
    });
    return viewOne(snapshot, await findRun(snapshot, run.id));
  },

  async retryRun(snapshot, { params: { id }, signal }) {
    const run = await findRun(snapshot, id);
    if (!isFinal(run.state) || run.state === 'completed') {
      const problem = `the run ${run.id} is ${run.state}, and only one that failed or was cancelled goes on`;
      const hint = run.state === 'completed' ? `"leasehold runs fork ${run.id}" does part of it again.` : undefined;
      throw fault('CONFLICT', { problem }, hint === undefined ? {} : { hint });
    }
    await snapshot.engine.runs.retry(run.task, signal === undefined ? {} : { signal });
    return viewOne(snapshot, await findRun(snapshot, run.id));
  },

  async forkRun(snapshot, { params: { id }, body }) {
    return viewOne(snapshot, await forkRun(snapshot, await findRun(snapshot, id), body));
  },

  async setRunBudget(snapshot, { params: { id }, body }) {
    const run = await findRun(snapshot, id);
    return { budgets: await setBudgets(snapshot, run.root ?? run.task, [body]) };
  },
} satisfies Operations;

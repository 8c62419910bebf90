import type { TaskState } from '../../core/task/task.ts';
import type { RunStepView, RunView } from '../../protocol/views.ts';
import type { Caller } from '../operator.ts';
import { PAGE } from './calls.ts';

/** Beyond that a list helps nobody. */
const MOST = 10_000;

export interface RunQuery {
  readonly state?: readonly TaskState[];
  /** How the name begins that the caller gave it. */
  readonly name?: string | undefined;
  readonly title?: string | undefined;
}

/** The newest first. */
export async function listRuns(caller: Caller, query: RunQuery, most: number): Promise<readonly RunView[]> {
  const runs: RunView[] = [];
  for (let cursor: string | undefined; runs.length < most; ) {
    const page = await caller.call('listRuns', {
      query: { ...query, limit: Math.min(PAGE, most - runs.length), cursor },
    });
    runs.push(...page.runs);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return runs;
}

/** The steps of a run, page by page. `more`: there are others. */
export async function stepsOfRun(
  caller: Caller,
  id: string,
): Promise<{ readonly steps: readonly RunStepView[]; readonly more: boolean }> {
  const steps: RunStepView[] = [];
  for (let cursor: string | undefined; steps.length < MOST; ) {
    const page = await caller.call('listRunSteps', { params: { id }, query: { limit: PAGE, cursor } });
    steps.push(...page.steps);
    cursor = page.cursor;
    if (cursor === undefined) return { steps, more: false };
  }
  return { steps, more: true };
}

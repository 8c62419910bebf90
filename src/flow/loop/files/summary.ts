/** `summary.json`: how a run has ended. */
import type { Value } from '../../expression/values.ts';
import type { LoopState } from '../loop-state.ts';
import { iterationsOf, type LoopPhase, type PhaseRecord } from '../records.ts';
import type { PlanTasks } from './plan-tasks.ts';

export interface Ended {
  readonly executionId: string;
  readonly name: string | undefined;
  readonly workspace: string;
  readonly state: LoopState;
  readonly at: number;
  readonly branch: string | undefined;
  readonly base: string | undefined;
  readonly commit: string | undefined;
  /** The commit by which it was merged. */
  readonly merged: string | undefined;
  readonly tasks: PlanTasks | undefined;
}

export function summaryOf(ended: Ended): Readonly<Record<string, Value>> {
  const { state, tasks } = ended;
  return {
    run_id: ended.executionId,
    name: ended.name ?? null,
    workspace: ended.workspace,
    status: state.next === 'completed' ? 'COMPLETED' : 'FAILED',
    reason: state.failure ?? null,
    iterations: iterationsOf(state.records),
    rewrites: state.rewrites,
    phases: phasesOf(state.records),
    base_branch: ended.base ?? null,
    run_branch: ended.branch ?? null,
    commit: ended.commit ?? null,
    merge_commit: ended.merged ?? null,
    tasks_done: tasks?.done ?? null,
    tasks_total: tasks?.total ?? null,
    ended_at: ended.at,
  };
}

function phasesOf(records: readonly PhaseRecord[]): Readonly<Record<string, Value>> {
  const names = [...new Set(records.map(({ phase }) => phase))];
  return Object.fromEntries(names.map((name) => [name, counted(records, name)]));
}

function counted(records: readonly PhaseRecord[], name: LoopPhase): Value {
  const own = records.filter(({ phase }) => phase === name);
  return { attempts: own.length, failed: own.filter(({ ok }) => !ok).length };
}

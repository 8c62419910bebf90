import { fault } from '../../core/errors.ts';
import type { Flaw } from '../../core/graph/document.ts';
import type { RunPlan } from '../../core/graph/document-run.ts';
import type { DocumentAnswer } from '../../store/store.ts';

/** Why a change is refused, for callers that decide by it. */
export type DocumentRefusal =
  | 'circle'
  | 'parent'
  | 'reference'
  | 'tree'
  | 'transition'
  | 'unmet'
  | 'running'
  | 'removal';

export function flawed(flaw: Flaw): Error {
  switch (flaw.kind) {
    case 'twice':
      return refuse('tree', `two tasks have the id ${flaw.id}`);
    case 'roots':
      return refuse('tree', `the tasks have ${flaw.ids.length} roots, and a tree has exactly one`);
    case 'parent':
      return refuse('parent', `there is no task ${flaw.parent} to be the parent of ${flaw.id}`);
    case 'ancestry':
      return refuse('parent', `a task would be below itself: ${flaw.ids.join(' → ')}`);
    case 'reference':
      return refuse('reference', `the task ${flaw.id} depends on ${flaw.on}, which is not in its tree`);
    case 'circle':
      return refuse('circle', `the tasks wait for each other in a circle: ${flaw.ids.join(' → ')}`);
  }
}

export function refusedRun(plan: RunPlan & { readonly ok: false }): Error {
  switch (plan.why) {
    case 'running':
      return refuse('running', `the tree is executing: the task ${plan.id} has not ended`);
    case 'fixed':
      return refuse('transition', `the task ${plan.id} shows the result of another one, and cannot be executed`);
    case 'cancelled':
      return refuse('transition', `the task ${plan.id} was cancelled`);
    case 'done':
      return refuse('transition', `the task ${plan.id} has completed, and nothing is left to execute`);
    case 'unmet':
      return refuse('unmet', `the task ${plan.id} needs ${plan.on}, which was cancelled before it ran`);
  }
}

export function refusedWrite(answer: DocumentAnswer & { readonly ok: false }): Error {
  if (answer.why === 'taken') return refuse('tree', `there is a task with the id ${answer.id} already`);
  return fault('CONFLICT', { problem: 'the tree was changed by somebody else' });
}

export function busy(root: string): Error {
  return fault('STORE_BUSY', { problem: `other processes keep changing the tree ${root}` });
}

export function refuse(refusal: DocumentRefusal, problem: string): Error {
  const invalid = refusal === 'circle' || refusal === 'parent' || refusal === 'reference' || refusal === 'tree';
  return invalid
    ? fault('INVALID_INPUT', { field: 'task', problem, refusal })
    : fault('CONFLICT', { problem, refusal });
}

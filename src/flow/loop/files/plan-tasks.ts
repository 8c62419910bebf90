import { checkedBoxes } from '../prompts.ts';

/** Boxes of a plan. */
export interface PlanTasks {
  readonly done: number;
  readonly total: number;
}

/** As `checkedBoxes` reads them, with those that are not checked. */
export function planTasks(plan: string): PlanTasks {
  const open = plan.match(/^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[ \]\s/gm)?.length ?? 0;
  const done = checkedBoxes(plan);
  return { done, total: done + open };
}

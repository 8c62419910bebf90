import { isFinal, type TaskState } from '../task/task.ts';
import type { DocumentNode } from './document.ts';

/**
 * The status of a document: `new` was never executed, `dropped` was cancelled before that, `fixed` shows the result of another document and
 * never runs. Otherwise it is the state of the task of its last execution.
 */
export type DocumentStatus = 'new' | 'dropped' | 'fixed' | TaskState;

export interface DocumentWithStatus extends DocumentNode {
  readonly status: DocumentStatus;
  /** Lower first. */
  readonly priority: number;
}

/** A document that an execution runs, with what must have ended before. */
export interface PlannedRun {
  readonly id: string;
  /** Documents of this execution, or of an earlier one. */
  readonly after: readonly PlannedNeed[];
}

export interface PlannedNeed {
  readonly id: string;
  readonly optional: boolean;
}

export type RunPlan =
  | { readonly ok: true; readonly runs: readonly PlannedRun[] }
  /** `running`: a part of the tree has not ended. `cancelled`, `fixed`: it never runs again. `done`: nothing is left to run. */
  | { readonly ok: false; readonly why: 'running' | 'cancelled' | 'fixed' | 'done'; readonly id: string }
  /** A dependency was cancelled before it ever ran. */
  | { readonly ok: false; readonly why: 'unmet'; readonly id: string; readonly on: string };

/**
 * What an execution of this document runs: itself, everything below it, and what any of these depends on, as far as it is new or has
 * failed; also completed documents that depend on one that runs again. Other completed documents keep their results.
 */
export function planRun(tree: readonly DocumentWithStatus[], from: string): RunPlan {
  const running = tree.find(({ status }) => isUnfinished(status));
  if (running !== undefined) return { ok: false, why: 'running', id: running.id };
  const own = tree.find(({ id }) => id === from)?.status;
  if (own === 'fixed') return { ok: false, why: 'fixed', id: from };
  if (own === 'dropped' || own === 'cancelled') return { ok: false, why: 'cancelled', id: from };
  const chosen = choose(reach(tree, from));
  if (chosen.size === 0) return { ok: false, why: 'done', id: from };
  const statuses = new Map(tree.map(({ id, status }) => [id, status]));
  for (const { id, dependencies } of chosen.values()) {
    const unmet = dependencies.find((need) => need.required && statuses.get(need.id) === 'dropped');
    if (unmet !== undefined) return { ok: false, why: 'unmet', id, on: unmet.id };
  }
  return { ok: true, runs: order(tree, chosen) };
}

function isUnfinished(status: DocumentStatus): boolean {
  return status !== 'new' && status !== 'dropped' && status !== 'fixed' && !isFinal(status);
}

/** This document, what is below it, what it depends on, and so on for each of these. */
function reach(tree: readonly DocumentWithStatus[], from: string): readonly DocumentWithStatus[] {
  const byId = new Map(tree.map((node) => [node.id, node]));
  const children = Map.groupBy(tree, ({ parent }) => parent);
  const found = new Set([from]);
  // Grows during the loop.
  for (const id of found) {
    for (const child of children.get(id) ?? []) found.add(child.id);
    for (const need of byId.get(id)?.dependencies ?? []) found.add(need.id);
  }
  return tree.filter(({ id }) => found.has(id));
}

function choose(reached: readonly DocumentWithStatus[]): ReadonlyMap<string, DocumentWithStatus> {
  const chosen = new Map<string, DocumentWithStatus>();
  for (const node of reached) if (node.status === 'new' || node.status === 'failed') chosen.set(node.id, node);
  for (let before = -1; before < chosen.size; ) {
    before = chosen.size;
    for (const node of reached) {
      const again = node.status === 'completed' && node.dependencies.some(({ id }) => chosen.has(id));
      if (again) chosen.set(node.id, node);
    }
  }
  return chosen;
}

function order(
  tree: readonly DocumentWithStatus[],
  chosen: ReadonlyMap<string, DocumentWithStatus>,
): readonly PlannedRun[] {
  const runs = [...chosen.values()];
  const statuses = new Map(tree.map(({ id, status }) => [id, status]));
  const family = Map.groupBy(runs, ({ parent }) => parent);
  const barriers = barriersOf(tree, chosen, family);
  return runs.map(({ id, dependencies }) => {
    const after = new Map<string, boolean>();
    for (const child of family.get(id) ?? []) after.set(child.id, true);
    for (const before of barriers.get(id) as readonly string[]) after.set(before, true);
    for (const need of dependencies) {
      // A dependency that was cancelled before it ever ran has no end to wait for.
      if (statuses.get(need.id) !== 'dropped') after.set(need.id, !need.required && (after.get(need.id) ?? true));
    }
    return { id, after: [...after].map(([up, optional]) => ({ id: up, optional })) };
  });
}

/**
 * Children of one parent run by priority, one group after the other. A group waits only for those documents of earlier groups that wait for
 * nothing outside of their own subtree. These always end first, so no cycle can arise.
 */
function barriersOf(
  tree: readonly DocumentWithStatus[],
  chosen: ReadonlyMap<string, DocumentWithStatus>,
  family: ReadonlyMap<string | undefined, readonly DocumentWithStatus[]>,
): ReadonlyMap<string, readonly string[]> {
  const waiting = waitingOutside(tree, chosen);
  const barriers = new Map<string, readonly string[]>();
  for (const siblings of family.values()) {
    const groups = Map.groupBy(siblings, ({ priority }) => priority);
    let barrier: readonly string[] = [];
    for (const priority of [...groups.keys()].sort((a, b) => a - b)) {
      const ids = (groups.get(priority) as readonly DocumentWithStatus[]).map(({ id }) => id);
      for (const id of ids) barriers.set(id, barrier);
      const contained = ids.filter((id) => !waiting.has(id));
      if (contained.length > 0) barrier = contained;
    }
  }
  return barriers;
}

/** Documents that wait for one outside of their own subtree that runs too, or have such a document below them. */
function waitingOutside(
  tree: readonly DocumentWithStatus[],
  chosen: ReadonlyMap<string, DocumentWithStatus>,
): ReadonlySet<string> {
  const parents = new Map(tree.map(({ id, parent }) => [id, parent]));
  const ancestorsOf = (id: string): readonly string[] => {
    const ancestors: string[] = [];
    for (let at: string | undefined = id; at !== undefined; at = parents.get(at)) ancestors.push(at);
    return ancestors;
  };
  const waiting = new Set<string>();
  for (const { id, dependencies } of chosen.values()) {
    for (const need of dependencies) {
      if (!chosen.has(need.id)) continue;
      const above = new Set(ancestorsOf(need.id));
      for (const at of ancestorsOf(id)) if (!above.has(at)) waiting.add(at);
    }
  }
  return waiting;
}

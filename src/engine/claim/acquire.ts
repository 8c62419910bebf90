import { obstacles, sayObstacle } from '../../core/placement/placement.ts';
import { isFinal } from '../../core/task/task.ts';
import type { FleetMember, Grant, Lane, Store } from '../../store/store.ts';
import { type Facts } from '../read/explain.ts';
import { candidateOf, placedOf } from './worker-profiles.ts';

/**
 * `gone`: there is no such task. `taken`: it runs. `ended`: it has ended. `waits`: for other tasks, or for its time. `held`: by a pause or
 * a limit. `unfit`: this worker may not run it. `lost`: the worker is not known any more.
 */
export type Refusal = 'gone' | 'taken' | 'ended' | 'waits' | 'held' | 'unfit' | 'lost';

export type Acquired =
  | { readonly ok: true; readonly grant: Grant }
  | { readonly ok: false; readonly why: Refusal; readonly reasons: readonly string[] };

/** Why this worker may not take this task now. Undefined: nothing is seen that keeps it from it. */
export function refusalOf(facts: Facts, member: FleetMember): (Acquired & { readonly ok: false }) | undefined {
  const { task, paused, lane, dependencies } = facts;
  // First of all: how a task fares that this worker may not run is no business of it.
  const barred = obstacles(placedOf(lane), candidateOf(member)).map(sayObstacle);
  if (barred.length > 0) return { ok: false, why: 'unfit', reasons: barred };
  if (task.state === 'running') return refuse('taken', 'another worker runs it');
  if (isFinal(task.state)) return refuse('ended', `it has ended: ${task.state}`);
  if (task.state !== 'ready') {
    const open = dependencies.filter(({ state }) => state !== 'gone' && !isFinal(state)).length;
    return refuse('waits', open > 0 ? `it waits for ${open} other tasks` : 'it is not due');
  }
  if (paused) return refuse('held', `its queue ${task.queue} is paused`);
  const full = facts.counters.find(({ open }) => !open);
  if (full !== undefined) return refuse('held', `the limit ${full.use.name} has no room`);
  const unfit = unfitness(lane, member, facts.heldLike.get(member.worker) ?? 0);
  return unfit.length === 0 ? undefined : { ok: false, why: 'unfit', reasons: unfit };
}

/** Why this worker may not run tasks of this lane, of which it has `held` already. */
export function unfitness(lane: Lane, member: FleetMember, held: number): readonly string[] {
  const reasons = obstacles(placedOf(lane), candidateOf(member)).map(sayObstacle);
  if (member.running >= member.slots) reasons.push(`has all its ${member.slots} slots full`);
  const bound = lane.rules?.placement.maxPerWorker;
  if (bound !== undefined && held >= bound) reasons.push(`has ${held} such tasks, of at most ${bound}`);
  return reasons;
}

const refuse = (why: Refusal, reason: string): Acquired & { readonly ok: false } => ({
  ok: false,
  why,
  reasons: [reason],
});

export async function memberOf(store: Pick<Store, 'workerFleet'>, worker: number): Promise<FleetMember | undefined> {
  return (await store.workerFleet()).members.find((member) => member.worker === worker);
}

import type { CarryAnswer, DependencyStore, DutyTerm, GraphAnswer, GraphTask } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import type { AllocatedIds } from '../verbs/queue/push.ts';
import { carryOn, hasToCarry } from '../verbs/trees/countdown.ts';
import { listDependencies, listPlanned, pushGraph } from '../verbs/trees/graph.ts';
import type { StoreParts } from './store-parts.ts';

export function dependencyStore(parts: StoreParts): DependencyStore {
  const { calls } = parts;
  return {
    graphPush: ({ items }) => push(parts, items),
    depList: ({ task }) => calls.run((session) => listDependencies(session, task)),
    depDependents: ({ tasks }) => calls.run((session) => listPlanned(session, 'depDependents', tasks)),
    depNeeds: ({ tasks }) => calls.run((session) => listPlanned(session, 'depPlans', tasks)),
    depCarry: ({ duty, limit }) => carry(parts, duty, limit),
  };
}

async function push(parts: StoreParts, items: readonly GraphTask[]): Promise<GraphAnswer> {
  const flushId = parts.dedup.next();
  const allocated: AllocatedIds = [];
  const answer = await parts.calls.transaction((session) => pushGraph(session, parts, flushId, items, allocated));
  if (answer.ok) parts.hints.pushed(items, answer.tasks);
  return answer;
}

async function carry({ calls, hints }: StoreParts, duty: DutyTerm, limit: number): Promise<CarryAnswer> {
  if (!(await calls.run((session) => hasToCarry(session, duty)))) return { carried: 0, lanes: [], more: false };
  const answer = await calls.transaction(async (session) => {
    await requireDuty(session, duty);
    return carryOn(session, limit);
  });
  hints.ready(answer.lanes);
  return answer;
}

import type { CarryAnswer, DependencyStore, DutyTerm } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import { carryOn, hasToCarry } from '../verbs/trees/countdown.ts';
import { listDependencies, listPlanned, pushGraph } from '../verbs/trees/graph.ts';
import type { StoreParts } from './store-parts.ts';

export function dependencyStore(parts: StoreParts): DependencyStore {
  const { calls, writer } = parts;
  return {
    graphPush: ({ items }) => calls.waking('push', (tx) => pushGraph(tx, items)),
    depList: ({ task }) => writer.read(({ sql }) => listDependencies(sql, task)),
    depDependents: ({ tasks }) => writer.read(({ sql }) => listPlanned(sql, 'depDependents', tasks)),
    depNeeds: ({ tasks }) => writer.read(({ sql }) => listPlanned(sql, 'depNeeds', tasks)),
    depCarry: ({ duty, limit }) => carry(parts, duty, limit),
  };
}

async function carry({ calls, writer }: StoreParts, duty: DutyTerm, limit: number): Promise<CarryAnswer> {
  if (!(await calls.dutyLook(duty, 'hasToCarry', hasToCarry))) return { carried: 0, lanes: [], more: false };
  return writer.write('stage', (tx) => {
    requireDuty(tx, duty);
    return carryOn(tx, limit);
  });
}

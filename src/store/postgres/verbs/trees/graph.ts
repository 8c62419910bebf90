import { stateOf } from '../../../codes.ts';
import { inOrderOfEdges, type StandIns, standIns } from '../../../graph.ts';
import type { Dependency, GraphAnswer, GraphTask, Planned, PushedTask } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import type { FlushId } from '../../push-dedup.ts';
import { makeAll } from '../queue/births.ts';
import { type AllocatedIds, madeBy, noteOf, pushedBefore, taskStates } from '../queue/push.ts';

/** All or nothing, in a transaction. A repeat of a graph finds the flush id of the first try taken. */
export async function pushGraph(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  items: readonly GraphTask[],
  allocated: AllocatedIds,
): Promise<GraphAnswer> {
  const { lanes } = parts;
  await lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const places = standIns(items, ({ lane }) => lanes.known(lane)?.queueId as number);
  if ('item' in places) return { ok: false, conflict: 0, item: places.item };
  // A refusal rolls this back too, so that a repeat asks again.
  await session.raw('SAVEPOINT graph');
  const [own] = await session.rows('flightAdd', [flushId.store, flushId.n]);
  if (own === undefined) return pushedGraph(session, parts, flushId, items, places, allocated);
  const answer = await makeAll(session, parts, items, places, { note: noteOf(flushId), allocated });
  if (!answer.ok) await session.raw('ROLLBACK TO SAVEPOINT graph');
  // Limits refuse only children.
  return answer as GraphAnswer;
}

/** The answer of an earlier try that had come through. */
async function pushedGraph(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  items: readonly GraphTask[],
  places: StandIns,
  allocated: AllocatedIds,
): Promise<GraphAnswer> {
  const made = await madeBy(session, flushId);
  const ids = allocated.find((drawnIds) => [...drawnIds.values()].some((id) => made.has(id)));
  const states = await taskStates(session, [...made.keys()]);
  const firsts = new Map<number, PushedTask>();
  for (const place of new Set(places)) {
    const own = made.get(ids?.get(place) ?? 0);
    const answer =
      own ?? (await pushedBefore(session, parts, flushId, items[place] as GraphTask, { again: false }, []));
    if (!answer?.ok) throw new Error('a task that an item stood for is gone');
    firsts.set(place, own === undefined ? answer : { ...own, state: states.get(own.task) ?? own.state });
  }
  const tasks = places.map((place, i) => {
    const answer = firsts.get(place) as PushedTask;
    return { ...answer, fresh: answer.fresh && place === i };
  });
  return { ok: true, tasks };
}

export async function listDependencies(session: Session, task: number): Promise<readonly Dependency[]> {
  const rows = await session.all<{
    up: number;
    optional: boolean;
    created_at: number | null;
    state: number | null;
    result: string | null;
  }>('depList', [task]);
  const list = rows.map(({ up, optional, created_at, state, result }) => ({
    task: up,
    createdAt: created_at ?? undefined,
    optional,
    state: state === null ? undefined : stateOf(state),
    result: result ?? undefined,
  }));
  // Sorted here: for ORDER BY the statement would use an index that does not fit.
  return list.sort((a, b) => a.task - b.task);
}

export async function listPlanned(
  session: Session,
  side: 'depDependents' | 'depPlans',
  tasks: readonly number[],
): Promise<readonly Planned[]> {
  const rows = await session.all<Planned>(side, [numbers([...new Set(tasks)])]);
  return inOrderOfEdges(rows);
}

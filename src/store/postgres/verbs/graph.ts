import { isFinal, type TaskState } from '../../../core/task.ts';
import { fitsInline, stateOf } from '../../codes.ts';
import { type Birth, birthsOf, inOrderOfEdges, type StandIns, standIns, upsOf } from '../../graph.ts';
import type { Dependency, GraphAnswer, GraphTask, Planned, PushAnswer } from '../../store.ts';
import { booleans, numbers, texts } from '../arrays.ts';
import type { Session } from '../database.ts';
import type { Flight } from '../flights.ts';
import type { PostgresParts } from '../parts.ts';
import { prioOf } from '../prio.ts';
import { countDown, endAfter } from './countdown.ts';
import {
  type Drawn,
  earlierAnswers,
  keepAnswers,
  madeBy,
  noteOf,
  pushedBefore,
  resultKeys,
  standOf,
  takeKeys,
} from './push.ts';

type Made = PushAnswer & { readonly ok: true };

/** Rows of one statement: the event of so many stays in one page. */
const CHUNK = 500;
/** A task may end or be revived between two looks; more often than this only if something is wrong. */
const LOOKS = 10;

/** All or nothing, in a transaction. Of two sendings of one graph the second finds the flight of the first. */
export async function pushGraph(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly GraphTask[],
  sendings: Drawn,
): Promise<GraphAnswer> {
  const { lanes } = parts;
  await lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const places = standIns(items, ({ lane }) => lanes.known(lane)?.queueId as number);
  if ('item' in places) return { ok: false, conflict: 0, item: places.item };
  // What refuses it takes this back too: a second sending of it then asks again.
  await session.raw('SAVEPOINT graph');
  const [own] = await session.rows('flightAdd', [flight.store, flight.n]);
  if (own === undefined) return pushedGraph(session, parts, flight, items, places, sendings);
  const answer = await store(session, parts, flight, items, places, sendings);
  if (!answer.ok) await session.raw('ROLLBACK TO SAVEPOINT graph');
  return answer;
}

async function store(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly GraphTask[],
  places: StandIns,
  sendings: Drawn,
): Promise<GraphAnswer> {
  const named = items.some(({ op, unique }) => op !== undefined || unique !== undefined);
  const own = [...new Set(places)];
  const firsts = own.map((i) => items[i] as GraphTask);
  const answers = named ? await earlierAnswers(session, firsts) : firsts.map(() => undefined);
  const open = [...firsts.keys()].filter((at) => answers[at] === undefined);
  const drawn = await session.rows('taskIds', [open.length]);
  const ids = new Map(open.map((at, k) => [at, (drawn[k] as readonly [number])[0]]));
  sendings.push(new Map([...ids].map(([at, id]) => [own[at] as number, id])));
  if (named) await takeKeys(session, parts, firsts, ids, answers);
  for (const [at, answer] of answers.entries()) {
    if (answer === undefined || answer.ok) continue;
    return { ok: false, conflict: 'conflict' in answer ? answer.conflict : 0, item: own[at] as number };
  }
  const found = new Map(answers.flatMap((answer, at) => (answer?.ok ? [[own[at] as number, answer] as const] : [])));
  const stands = await lockUps(session, items, [...found.values()]);
  if (typeof stands === 'number') return { ok: false, unknown: stands };
  const fresh = open.filter((at) => answers[at] === undefined);
  const idOf = new Map(fresh.map((at) => [own[at] as number, ids.get(at) as number]));
  const tasks = places.map((place) => found.get(place)?.task ?? (idOf.get(place) as number));
  const births = birthsOf(items, tasks, [...idOf.keys()], stands);
  const ups = upsOf(births, stands);
  if (ups.length > 0) await session.rows('depWatch', [numbers(ups)]);
  const made = await bear(session, parts, flight, births);
  for (const at of fresh) answers[at] = made.get(ids.get(at) as number);
  if (named) await keepAnswers(session, firsts, answers as PushAnswer[], open);
  const states = await endDoomed(session, births);
  return {
    ok: true,
    tasks: places.map((place, i) => {
      const task = tasks[i] as number;
      const answer = made.get(task);
      if (answer === undefined) return found.get(place) as Made;
      return { ...answer, state: states.get(task) ?? answer.state, fresh: place === i };
    }),
  };
}

/**
 * How the tasks are that new ones will wait for, or the one that is nowhere. Those that are unfinished stay so until the
 * commit. What is not found among them is looked for by a statement of its own: it ended while the lock was waited for.
 */
async function lockUps(
  session: Session,
  items: readonly GraphTask[],
  found: readonly Made[],
): Promise<ReadonlyMap<number, TaskState> | number> {
  const stands = new Map<number, TaskState>();
  const wanted = new Set(items.flatMap(({ after }) => after.flatMap(({ task }) => task ?? [])));
  for (const { task } of found) wanted.add(task);
  let missing = [...wanted];
  for (let look = 0; missing.length > 0 && look < LOOKS; look++) {
    for (const [id] of await session.rows('depLock', [numbers(missing)])) stands.set(id as number, 'waiting');
    missing = missing.filter((task) => !stands.has(task));
    if (missing.length === 0) break;
    const ended = await standOf(session, missing);
    // One that is unfinished now was revived between the two looks.
    for (const [task, state] of ended) if (isFinal(state)) stands.set(task, state);
    // Of what an operation id remembers, the task may be gone by now.
    for (const { task, state } of found) if (!ended.has(task) && !stands.has(task)) stands.set(task, state);
    missing = missing.filter((task) => !stands.has(task));
    const unknown = missing.find((task) => !ended.has(task));
    if (unknown !== undefined) return unknown;
  }
  return stands;
}

async function bear(
  session: Session,
  { lanes }: PostgresParts,
  flight: Flight,
  births: readonly Birth[],
): Promise<ReadonlyMap<number, Made>> {
  const made = new Map<number, Made>();
  if (births.length === 0) return made;
  for (const some of chunks(births, CHUNK)) {
    const items = some.map(({ item }) => item);
    const rows = (await session.rows('graphAdd', [
      numbers(some.map(({ task }) => task)),
      numbers(items.map(({ lane }) => lanes.known(lane)?.queueId)),
      numbers(items.map(({ lane }) => lane)),
      numbers(items.map(({ spec }) => spec)),
      numbers(items.map(({ priority }) => prioOf(priority))),
      numbers(items.map(({ maxTries }) => maxTries)),
      texts(items.map(({ payload }) => payload)),
      booleans(items.map(({ payload }) => !fitsInline(payload))),
      numbers(items.map(({ runAt }) => runAt)),
      numbers(items.map(({ delayMs }) => delayMs)),
      numbers(items.map(({ waitTimeoutMs }) => waitTimeoutMs)),
      numbers(some.map(({ flags }) => flags)),
      numbers(some.map(({ open }) => open)),
      noteOf(flight),
      ...resultKeys(items, (i) => (some[i] as Birth).task),
    ])) as readonly (readonly [number, number, number])[];
    for (const [task, createdAt, state] of rows) {
      made.set(task, { ok: true, task, createdAt, state: stateOf(state), fresh: true });
    }
  }
  const edges = births.flatMap((birth) => birth.edges.map((edge) => ({ ...edge, down: birth.task })));
  for (const some of chunks(edges, 4 * CHUNK)) {
    await session.rows('depAdd', [
      numbers(some.map(({ up }) => up)),
      numbers(some.map(({ down }) => down)),
      booleans(some.map(({ optional }) => optional)),
      booleans(some.map(({ open }) => open)),
    ]);
  }
  return made;
}

/** Those that need what has failed already end at once, and those below them. Says how all are after that. */
async function endDoomed(session: Session, births: readonly Birth[]): Promise<ReadonlyMap<number, TaskState>> {
  const doomed = births.filter((birth) => birth.doomed).map(({ task, flags }) => ({ id: task, flags }));
  if (doomed.length === 0) return new Map();
  const watched: Awaited<ReturnType<typeof endAfter>>[number][] = [];
  for (const some of chunks(doomed, CHUNK)) watched.push(...(await endAfter(session, some)));
  await countDown(session, watched);
  return standOf(
    session,
    births.map(({ task }) => task),
  );
}

/** The answer of a sending that had come through. */
async function pushedGraph(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly GraphTask[],
  places: StandIns,
  sendings: Drawn,
): Promise<GraphAnswer> {
  const made = await madeBy(session, flight);
  const ids = sendings.find((drawn) => [...drawn.values()].some((id) => made.has(id)));
  const states = await standOf(session, [...made.keys()]);
  const firsts = new Map<number, Made>();
  for (const place of new Set(places)) {
    const own = made.get(ids?.get(place) ?? 0);
    const answer = own ?? (await pushedBefore(session, parts, flight, items[place] as GraphTask, { again: false }, []));
    if (!answer?.ok) throw new Error('a task that an item stood for is gone');
    firsts.set(place, own === undefined ? answer : { ...own, state: states.get(own.task) ?? own.state });
  }
  const tasks = places.map((place, i) => {
    const answer = firsts.get(place) as Made;
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
  // Not by the statement: for the order it would read an index that leads nowhere.
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

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

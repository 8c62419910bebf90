import type { TaskState } from '../../../../core/task/task.ts';
import { stateOf, timeFlag } from '../../../codes.ts';
import { type Birth, birthsOf, type Lineage, type Overfull, type StandIns, upsOf } from '../../../graph.ts';
import { conflictOf } from '../../../op-keys.ts';
import type { GraphAnswer, GraphTask, LimitRefusal, NamedUse, PushAnswer, PushedTask } from '../../../store.ts';
import { booleans, numbers } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import { countDown, endAfter } from '../trees/countdown.ts';
import { admit, admittingLimits } from './admit.ts';
import {
  type AllocatedIds,
  birthColumns,
  earlierAnswers,
  keepAnswers,
  resultKeys,
  takeKeys,
  taskStates,
} from './push.ts';

/** Rows of one statement. The event of this many fits into one page. */
const CHUNK = 500;
/** A task may end or be revived between two reads. More often than this means that something is wrong. */
const LOOKS = 10;

/** The running task whose children these are. Limits judge children as they judge pushes. */
interface ParentTask extends Lineage {
  /** The counters that it gives back to when it goes. They are locked together with those of its children. */
  readonly counters: readonly number[];
  readonly tried: Try;
}

export interface BirthOptions {
  /** Names the flush in its events, so that a repeat finds them. */
  readonly note?: string;
  /** The ids that each try of this call has drawn. */
  readonly allocated: AllocatedIds;
  readonly lineage?: ParentTask;
}

/** Makes tasks that may wait for each other and for existing ones, all or nothing. After a refusal the caller rolls back. */
export async function makeAll(
  session: Session,
  parts: PostgresParts,
  items: readonly GraphTask[],
  places: StandIns,
  options: BirthOptions,
): Promise<GraphAnswer | Overfull> {
  const named = items.some(({ op, unique }) => op !== undefined || unique !== undefined);
  const own = [...new Set(places)];
  const firsts = own.map((i) => items[i] as GraphTask);
  const answers = named ? await earlierAnswers(session, firsts) : firsts.map(() => undefined);
  const open = [...firsts.keys()].filter((at) => answers[at] === undefined);
  const drawnIds = await session.rows('taskIds', [open.length]);
  const ids = new Map(open.map((at, k) => [at, (drawnIds[k] as readonly [number])[0]]));
  options.allocated.push(new Map([...ids].map(([at, id]) => [own[at] as number, id])));
  if (named) await takeKeys(session, parts, firsts, ids, answers);
  for (const [at, answer] of answers.entries()) {
    if (answer === undefined || answer.ok) continue;
    return { ...conflictOf(answer), item: own[at] as number };
  }
  const found = new Map(answers.flatMap((answer, at) => (answer?.ok ? [[own[at] as number, answer] as const] : [])));
  const stands = await lockUps(session, items, [...found.values()]);
  if (typeof stands === 'number') return { ok: false, unknown: stands };
  const fresh = open.filter((at) => answers[at] === undefined);
  const idOf = new Map(fresh.map((at) => [own[at] as number, ids.get(at) as number]));
  const tasks = places.map((place) => found.get(place)?.task ?? (idOf.get(place) as number));
  const births = birthsOf(items, tasks, [...idOf.keys()], stands);
  const ups = upsOf(births, stands);
  const asked = options.lineage === undefined ? NONE : await askLimits(session, parts, births, options.lineage);
  if (ups.length > 0) await session.rows('depWatch', [numbers(ups)]);
  const made = await bearAll(session, parts, births, asked, options);
  if ('limit' in made) return { ...made, ok: false, item: tasks.indexOf(made.task) };
  for (const at of fresh) answers[at] = made.get(ids.get(at) as number);
  if (named) await keepAnswers(session, firsts, answers as PushAnswer[], open);
  const states = await standAfter(session, births, asked.size > 0);
  return {
    ok: true,
    tasks: places.map((place, i) => {
      const task = tasks[i] as number;
      const answer = made.get(task);
      if (answer === undefined) return found.get(place) as PushedTask;
      return { ...answer, state: states.get(task) ?? answer.state, fresh: place === i };
    }),
  };
}

/**
 * The states of the tasks that new ones will wait for, or the number of one that does not exist. Unfinished ones are
 * locked until the commit. Those that are not among them ended while the lock was waited for, and are read by a
 * statement of its own.
 */
async function lockUps(
  session: Session,
  items: readonly GraphTask[],
  found: readonly PushedTask[],
): Promise<ReadonlyMap<number, TaskState> | number> {
  const stands = new Map<number, TaskState>();
  const wanted = new Set(items.flatMap(({ after }) => after.flatMap(({ task }) => task ?? [])));
  for (const { task } of found) wanted.add(task);
  let missing = [...wanted];
  for (let look = 0; missing.length > 0 && look < LOOKS; look++) {
    for (const [id] of await session.rows('depLock', [numbers(missing)])) stands.set(id as number, 'waiting');
    missing = missing.filter((task) => !stands.has(task));
    if (missing.length === 0) break;
    for (const [task, state] of await holdEnded(session, missing)) stands.set(task, state);
    missing = missing.filter((task) => !stands.has(task));
    if (missing.length === 0) break;
    // A task that exists all the same was revived between the two reads.
    const there = await taskStates(session, missing);
    // A task that an operation id remembers may be gone by now.
    for (const { task, state } of found) if (!there.has(task) && !stands.has(task)) stands.set(task, state);
    missing = missing.filter((task) => !stands.has(task));
    const unknown = missing.find((task) => !there.has(task));
    if (unknown !== undefined) return unknown;
  }
  return stands;
}

/**
 * The final states of these tasks. The tasks and their trees stay until the commit. A task of a tree that is being
 * pruned counts as gone.
 */
async function holdEnded(session: Session, tasks: readonly number[]): Promise<ReadonlyMap<number, TaskState>> {
  type TaskRoot = readonly [task: number, root: number | null];
  const found = (await session.rows('rootsOf', [numbers(tasks)])) as readonly TaskRoot[];
  if (found.length === 0) return new Map();
  const roots = new Set(found.flatMap(([, root]) => root ?? []));
  if (roots.size > 0) await session.rows('rootsDone', [numbers([...roots].sort((a, b) => a - b))]);
  type Row = { readonly id: number; readonly state: number };
  const rows = await session.all<Row>('endHold', [numbers(tasks.toSorted((a, b) => a - b))]);
  return new Map(rows.map(({ id, state }) => [id, stateOf(state)]));
}

type Asked = ReadonlyMap<number, readonly NamedUse[]>;
const NONE: Asked = new Map();

/** The uses of new tasks whose limits may refuse them, by task. All of these counters are locked together. */
async function askLimits(
  session: Session,
  { lanes }: PostgresParts,
  births: readonly Birth[],
  lineage: ParentTask,
): Promise<Asked> {
  const usesOf = ({ item }: Birth): readonly NamedUse[] => lanes.known(item.lane)?.rules?.uses ?? [];
  const names = await admittingLimits(session, [...new Set(births.flatMap(usesOf).map(({ name }) => name))]);
  const asked = new Map(
    births.flatMap((birth) => (usesOf(birth).some(({ name }) => names.has(name)) ? [[birth.task, usesOf(birth)]] : [])),
  );
  const counters = new Set([...lineage.counters, ...[...asked.values()].flat().map(({ counter }) => counter)]);
  if (counters.size > 0) await session.rows('slotLock', [numbers([...counters])]);
  return asked;
}

/** Tasks whose limits may refuse them are made one after another, as with pushes: each counts for the next. */
async function bearAll(
  session: Session,
  parts: PostgresParts,
  births: readonly Birth[],
  asked: Asked,
  options: BirthOptions,
): Promise<ReadonlyMap<number, PushedTask> | (LimitRefusal & { readonly task: number })> {
  const made = new Map<number, PushedTask>();
  for (const birth of births) {
    const uses = asked.get(birth.task);
    if (uses === undefined || options.lineage === undefined) continue;
    const refused = await admit(session, uses, options.lineage.tried);
    if (refused !== undefined) return { ...refused, task: birth.task };
    await bear(session, parts, [birth], options, made);
  }
  await bear(
    session,
    parts,
    births.filter(({ task }) => !asked.has(task)),
    options,
    made,
  );
  return made;
}

async function bear(
  session: Session,
  { lanes }: PostgresParts,
  births: readonly Birth[],
  { note, lineage }: BirthOptions,
  made: Map<number, PushedTask>,
): Promise<void> {
  for (const some of chunks(births, CHUNK)) {
    const items = some.map(({ item }) => item);
    const rows = (await session.rows('graphAdd', [
      numbers(some.map(({ task }) => task)),
      ...birthColumns(lanes, items),
      numbers(some.map(({ flags, item }) => flags | timeFlag(item))),
      numbers(some.map(({ open }) => open)),
      note ?? null,
      ...resultKeys(items, (i) => (some[i] as Birth).task),
      lineage?.parent ?? null,
      lineage?.root ?? null,
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
}

/**
 * Tasks that need one that has failed end at once, and so do their dependents. Returns the states of all after that,
 * and after some may have been replaced.
 */
async function standAfter(
  session: Session,
  births: readonly Birth[],
  someGaveWay: boolean,
): Promise<ReadonlyMap<number, TaskState>> {
  const doomed = births.filter((birth) => birth.doomed).map(({ task, flags }) => ({ id: task, flags }));
  if (doomed.length === 0 && !someGaveWay) return new Map();
  const watched: Awaited<ReturnType<typeof endAfter>>[number][] = [];
  for (const some of chunks(doomed, CHUNK)) watched.push(...(await endAfter(session, some)));
  await countDown(session, watched);
  return taskStates(
    session,
    births.map(({ task }) => task),
  );
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

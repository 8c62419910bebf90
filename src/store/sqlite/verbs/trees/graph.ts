import { STATES, type TaskState } from '../../../../core/task/task.ts';
import { fitsInline, PAYLOAD_APART, stateCode, timeFlag } from '../../../codes.ts';
import {
  type Birth,
  birthsOf,
  inOrderOfEdges,
  type Lineage,
  type Overfull,
  type StandIns,
  standIns,
  upsOf,
} from '../../../graph.ts';
import { conflictOf } from '../../../op-keys.ts';
import type { Dependency, GraphAnswer, GraphTask, Planned, PushedTask } from '../../../store.ts';
import { putPayload, putResultKey, resultOf } from '../../body.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { makeRoom, refusalOf } from '../queue/admit.ts';
import { dueAt, findTask, nameTask } from '../queue/push.ts';
import { countDown, endAfter } from './countdown.ts';

/** All or nothing: everything that could refuse the push is checked before anything is written. */
export function pushGraph(tx: Transaction, items: readonly GraphTask[]): GraphAnswer {
  return pushAll(tx, items, undefined) as GraphAnswer;
}

/** The same for children of a running task. Limits judge children as they judge pushes. */
export function bearChildren(tx: Transaction, items: readonly GraphTask[], lineage: Lineage): GraphAnswer | Overfull {
  return pushAll(tx, items, lineage);
}

function pushAll(tx: Transaction, items: readonly GraphTask[], lineage: Lineage | undefined): GraphAnswer | Overfull {
  const places = standIns(items, ({ lane }) => tx.laneOf(lane).queue);
  if ('item' in places) return { ok: false, conflict: 0, item: places.item };
  const found = new Map<number, PushedTask>();
  for (const [i, item] of items.entries()) {
    const answer = places[i] === i ? findTask(tx, item) : undefined;
    if (answer === undefined) continue;
    if (!answer.ok) return { ...conflictOf(answer), item: i };
    found.set(i, answer);
  }
  const stands = new Map([...found.values()].map(({ task, state }) => [task, state]));
  for (const { task } of items.flatMap(({ after }) => after)) {
    if (task === undefined || stands.has(task)) continue;
    const state = standOf(tx, task);
    if (state === undefined) return { ok: false, unknown: task };
    stands.set(task, state);
  }
  const full = lineage === undefined ? undefined : overfull(tx, items, places, found);
  return full ?? { ok: true, tasks: store(tx, items, places, found, stands, lineage) };
}

/** The first item that a limit refuses, with those before it counted. */
function overfull(
  tx: Transaction,
  items: readonly GraphTask[],
  places: StandIns,
  found: ReadonlyMap<number, PushedTask>,
): Overfull | undefined {
  const ahead = new Map<number, number>();
  for (const [i, { lane }] of items.entries()) {
    if (places[i] !== i || found.has(i)) continue;
    const refused = refusalOf(tx, tx.laneOf(lane).uses, ahead);
    if (refused !== undefined) return { ok: false, item: i, ...refused };
  }
  return undefined;
}

function standOf(tx: Transaction, task: number): TaskState | undefined {
  const row = tx.sql.get('depStand').get(task) as { state: number } | undefined;
  return row && STATES[row.state];
}

function store(
  tx: Transaction,
  items: readonly GraphTask[],
  places: StandIns,
  found: ReadonlyMap<number, PushedTask>,
  stands: ReadonlyMap<number, TaskState>,
  lineage: Lineage | undefined,
): readonly PushedTask[] {
  const fresh = places.flatMap((place, i) => (place === i && !found.has(i) ? [i] : []));
  // This transaction is the only writer, so the next ids are known.
  const last = (tx.sql.get('taskMax').get() as { id: number | null }).id ?? 0;
  const ids = new Map(fresh.map((i, at) => [i, last + 1 + at]));
  const tasks = places.map((place) => found.get(place)?.task ?? (ids.get(place) as number));
  const births = birthsOf(items, tasks, fresh, stands);
  for (const up of upsOf(births, stands)) tx.sql.get('depWatch').run(up);
  const states = new Map<number, TaskState>();
  for (const birth of births) states.set(birth.task, bear(tx, birth, lineage));
  if (lineage !== undefined && births.length > 0) tx.sql.get('treeMark').run(lineage.root);
  for (const [i, answer] of found) nameTask(tx, items[i] as GraphTask, answer);
  const doomed = births.filter((birth) => birth.doomed);
  // Their creation comes before their end in the feed.
  if (doomed.length > 0) tx.ledger.seal();
  const ends = doomed.map(({ item: { lane }, task, flags }) => {
    return endAfter(tx, { down: task, flags, lane, attempt: 0, created_at: tx.now });
  });
  for (const { task, state, watched } of ends) if (watched) countDown(tx, task, state);
  if (doomed.length > 0) for (const { task } of births) states.set(task, standOf(tx, task) as TaskState);
  return places.map((place, i) => {
    const task = tasks[i] as number;
    const state = states.get(task);
    if (state === undefined) return found.get(place) as PushedTask;
    return { ok: true, task, createdAt: tx.now, state, fresh: place === i };
  });
}

function bear(tx: Transaction, { item, task, flags, open, edges }: Birth, lineage: Lineage | undefined): TaskState {
  const { now } = tx;
  if (lineage !== undefined) makeRoom(tx, tx.laneOf(item.lane).uses);
  const due = dueAt(item, now);
  const waits = open > 0;
  const state = waits ? 'waiting' : due === null ? 'ready' : 'scheduled';
  const inline = fitsInline(item.payload);
  const wait = item.waitTimeoutMs;
  tx.sql
    .get('depTask')
    .run(
      task,
      item.lane,
      item.spec,
      stateCode(state),
      0 - item.priority,
      item.maxTries,
      flags | (inline ? 0 : PAYLOAD_APART) | timeFlag(item),
      open,
      now,
      waits ? null : due,
      waits ? due : null,
      wait === undefined ? null : waits ? wait : (due ?? now) + wait,
      inline ? item.payload : null,
      lineage?.parent ?? null,
      lineage?.root ?? null,
    );
  if (!inline) putPayload(tx.sql, task, item.payload);
  if (item.resultKey !== undefined) putResultKey(tx.sql, task, item.resultKey);
  for (const edge of edges) tx.sql.get('depAdd').run(edge.up, task, edge.optional ? 1 : 0, edge.open ? 1 : 0);
  tx.ledger.note(tx.laneOf(item.lane).queue, 'created', undefined, state, task, 0, now);
  nameTask(tx, item, { ok: true, task, createdAt: now, state, fresh: true });
  return state;
}

export function listDependencies(sql: Prepared, task: number): readonly Dependency[] {
  const rows = sql.get('depList').all(task) as unknown as {
    up: number;
    optional: number;
    created_at: number | null;
    state: number | null;
    flags: number;
    result: string | null;
  }[];
  return rows.map(({ up, optional, created_at, state, flags, result }) => ({
    task: up,
    createdAt: created_at ?? undefined,
    optional: optional === 1,
    state: state === null ? undefined : STATES[state],
    result: state === null ? undefined : resultOf(sql, up, flags, result),
  }));
}

interface PlannedRow {
  readonly up: number;
  readonly down: number;
  readonly optional: number;
}

export function listPlanned(
  sql: Prepared,
  side: 'depDependents' | 'depNeeds',
  tasks: readonly number[],
): readonly Planned[] {
  const rows = [...new Set(tasks)].flatMap((task) => sql.get(side).all(task)) as unknown as PlannedRow[];
  return inOrderOfEdges(rows.map(({ up, down, optional }) => ({ up, down, optional: optional === 1 })));
}

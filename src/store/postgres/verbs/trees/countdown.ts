import type { FinalState } from '../../../../core/task/task.ts';
import { DOWN_BATCH, FAILS_AFTER, RUNS_AFTER, stateCode, stateOf } from '../../../codes.ts';
import type { CarryAnswer, DutyTerm } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { requireRow } from '../admin/duty.ts';

/** A task that has ended, and that something waits for. */
export interface Ended {
  readonly task: number;
  readonly state: FinalState;
}

export const endedOf = (task: number, state: number): Ended => ({ task, state: stateOf(state) as FinalState });

interface Edge {
  readonly up: number;
  readonly down: number;
  readonly gen: number;
  readonly optional: boolean;
}

interface Waiting {
  readonly id: number;
  readonly attempt: number;
  readonly flags: number;
}

export interface Counted {
  /** Where tasks became ready. */
  readonly lanes: ReadonlySet<number>;
  /** How many edges were handled. */
  readonly edges: number;
  /** Something is left for `depCarry`. */
  readonly carried: boolean;
}

/**
 * What a transaction has done for tasks that its answer does not name. Given only in a transaction, because the end and
 * the countdown commit together.
 */
export interface Woken {
  /** Where tasks became ready. */
  readonly lanes: Set<number>;
  /** Something is left for `depCarry`. */
  carried: boolean;
}

export const noneWoken = (): Woken => ({ lanes: new Set(), carried: false });

/** Counts down and adds what that has woken. */
export async function countDownInto(woken: Woken, session: Session, ended: readonly Ended[]): Promise<void> {
  const { lanes, carried } = await countDown(session, ended);
  for (const lane of lanes) woken.lanes.add(lane);
  woken.carried ||= carried;
}

/**
 * Tasks that others wait for have ended. Each dependent has one less to wait for, or ends too; those that end are
 * followed level by level. What is too much for one transaction is left to `depCarry`.
 *
 * It runs in the transaction that ended the tasks, in statements after the one that did. A call that adds a dependent
 * locks what it needs first: it either came before the end and is seen here, or comes after it and sees the end. Within
 * the statement that ends them the snapshot would be older than the lock that it waited for, and half of such
 * dependents were never woken.
 */
export async function countDown(session: Session, ended: readonly Ended[], most = DOWN_BATCH): Promise<Counted> {
  const lanes = new Set<number>();
  let left = most;
  let carried = false;
  for (let level = ended; level.length > 0; ) {
    const edges = left > 0 ? await openEdges(session, level, left + 1) : [];
    const next = await seeTo(session, level, edges.slice(0, left), lanes);
    if (left === 0 || edges.length > left) {
      await carry(session, level);
      carried = true;
    }
    left -= Math.min(left, edges.length);
    level = next;
  }
  return { lanes, edges: most - left, carried };
}

function openEdges(session: Session, level: readonly Ended[], limit: number): Promise<readonly Edge[]> {
  return session.all<Edge>('depOpen', [numbers(level.map(({ task }) => task)), limit]);
}

/** Returns the dependents that ended, if others wait for them. */
async function seeTo(
  session: Session,
  level: readonly Ended[],
  edges: readonly Edge[],
  lanes: Set<number>,
): Promise<readonly Ended[]> {
  if (edges.length === 0) return [];
  const states = new Map(level.map(({ task, state }) => [task, state]));
  const byDown = Map.groupBy(edges, ({ down }) => down);
  // After the lock their state is the newest.
  const waiting = await session.all<Waiting>('downLock', [numbers([...byDown.keys()])]);
  const counted: { readonly id: number; readonly n: number }[] = [];
  const failing: Waiting[] = [];
  for (const row of waiting) {
    // Other edges are left from a wait that is over.
    const own = (byDown.get(row.id) ?? []).filter(({ gen }) => gen === row.attempt);
    const runs = (row.flags & RUNS_AFTER) !== 0;
    if (!runs && own.some(({ up, optional }) => !optional && states.get(up) !== 'completed')) failing.push(row);
    else if (own.length > 0) counted.push({ id: row.id, n: own.length });
  }
  await session.rows('depClose', [numbers(edges.map(({ up }) => up)), numbers(edges.map(({ down }) => down))]);
  if (counted.length > 0) {
    const values = [numbers(counted.map(({ id }) => id)), numbers(counted.map(({ n }) => n))];
    for (const [lane] of await session.rows('downCount', values)) lanes.add(lane as number);
  }
  return endAfter(session, failing);
}

/** Ends tasks because something that they need did not complete. Returns those that others wait for. */
export async function endAfter(
  session: Session,
  tasks: readonly Pick<Waiting, 'id' | 'flags'>[],
): Promise<readonly Ended[]> {
  if (tasks.length === 0) return [];
  const rows = (await session.rows('downEnd', [
    numbers(tasks.map(({ id }) => id)),
    numbers(tasks.map(({ flags }) => stateCode(flags & FAILS_AFTER ? 'failed' : 'cancelled'))),
  ])) as readonly (readonly [number, number, boolean])[];
  return rows.flatMap(([task, state, watched]) => (watched ? [endedOf(task, state)] : []));
}

async function carry(session: Session, level: readonly Ended[]): Promise<void> {
  await session.rows('carryAdd', [
    numbers(level.map(({ task }) => task)),
    numbers(level.map(({ state }) => stateCode(state))),
  ]);
}

/** How many ended tasks one step handles. */
const CARRIED = 100;

/** Whether ended tasks have dependents left that were not counted down. */
export async function hasToCarry(session: Session, { name, epoch }: DutyTerm): Promise<boolean> {
  const [row] = await session.all<{ some: boolean }>('carryLook', [name, epoch]);
  return requireRow({ name, epoch }, row).some;
}

/** Goes on where earlier transactions have stopped. */
export async function carryOn(session: Session, limit: number): Promise<CarryAnswer> {
  const rows = await session.all<{ up: number; state: number }>('carryTake', [CARRIED]);
  // A task that was revived meanwhile is waited for until its next end.
  const stands = new Map(
    (await session.all<{ id: number; state: number }>('stand', [numbers(rows.map(({ up }) => up))])).map(
      ({ id, state }) => [id, state],
    ),
  );
  const ended = rows
    .filter(({ up, state }) => (stands.get(up) ?? state) >= stateCode('completed'))
    .map(({ up, state }) => endedOf(up, state));
  const { lanes, edges } = await countDown(session, ended, Math.min(limit, DOWN_BATCH));
  const more = await session.rows('carryMore', []);
  return { carried: edges, lanes: [...lanes], more: more.length > 0 };
}

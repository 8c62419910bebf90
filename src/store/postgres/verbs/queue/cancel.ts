import { isFinal, type Reason } from '../../../../core/task/task.ts';
import { REMOVING, reasonCode, stateOf, WATCHED } from '../../../codes.ts';
import type { CancelAnswer, ReviveAnswer, ReviveParams } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import { countDownInto, type Ended, noneWoken, type Woken } from '../trees/countdown.ts';

/** A task may change between two reads. More often than this means that something is wrong. */
const LOOKS = 10;

/**
 * Cancels tasks that do not run. A running task gets a request, which its worker sees at the next renewal. Without
 * `woken` it has no answer for tasks that something waits for.
 */
export async function cancelTasks(
  session: Session,
  tasks: readonly number[],
  tried: Try,
  woken?: Woken,
  reason: Reason = 'requested',
): Promise<readonly (CancelAnswer | undefined)[]> {
  const answers = new Map<number, CancelAnswer | undefined>();
  const ended: Ended[] = [];
  let open = [...new Set(tasks)].sort((a, b) => a - b);
  for (let look = 0; open.length > 0 && look < LOOKS; look++) {
    const idle = woken === undefined ? 'cancelIdle' : 'cancelWatched';
    for (const [id, watched] of await session.rows(idle, [numbers(open), reasonCode(reason)])) {
      answers.set(id as number, 'cancelled');
      if (watched) ended.push({ task: id as number, state: 'cancelled' });
    }
    for (const [id] of await session.rows('cancelAsk', [numbers(open)])) answers.set(id as number, 'requested');
    open = open.filter((task) => !answers.has(task));
    if (open.length === 0) break;
    const rows = (await session.rows('stand', [numbers(open)])) as readonly (readonly [number, number, number])[];
    const stands = new Map(rows.map(([task, code, flags]) => [task, { code, flags }]));
    for (const task of open) {
      const { code, flags } = stands.get(task) ?? {};
      if (code === undefined || flags === undefined) answers.set(task, 'unknown');
      else if (code === 1) answers.set(task, 'requested');
      else if (!isFinal(stateOf(code)) && flags & WATCHED && woken === undefined) answers.set(task, undefined);
      // An earlier try of this call may have ended it.
      else if (isFinal(stateOf(code))) answers.set(task, tried.again && code === 6 ? 'cancelled' : 'finished');
    }
    open = open.filter((task) => !answers.has(task));
  }
  // After all of them: a task that is named here was cancelled by its own number.
  if (ended.length > 0) await countDownInto(woken ?? noneWoken(), session, ended);
  const seen = new Set<number>();
  return tasks.map((task) => {
    const answer = answers.has(task) ? answers.get(task) : 'unknown';
    const second = seen.has(task);
    seen.add(task);
    return second && answer === 'cancelled' ? 'finished' : answer;
  });
}

interface Unrevived {
  readonly state: number;
  readonly lane: number;
  readonly removing: boolean;
  readonly gone: boolean;
}

/**
 * The only way out of a final state. The attempt that ended the task moves to `attempt`, so that a repeat of its end is
 * recognized. A member of a tree that is being pruned counts as gone.
 */
export async function reviveTask(session: Session, task: number, tried: Try): Promise<ReviveAnswer> {
  let rootless = false;
  for (let look = 0; ; look++) {
    const [row] = await session.all<{ lane: number }>('revive', [task, 0, 0, rootless]);
    if (row !== undefined) return { ok: true, lane: row.lane };
    const [record] = await session.all<Unrevived>('reviveLook', [task]);
    if (record === undefined || record.removing) return { ok: false, state: undefined };
    const state = stateOf(record.state);
    rootless = record.gone;
    if (isFinal(state) && look < LOOKS) continue; // It or its root changed between the two reads.
    return tried.again && !isFinal(state) ? { ok: true, lane: record.lane } : { ok: false, state };
  }
}

/** Whether some of these were pushed to wait for others. That is decided when a task is made. */
export async function someDepend(session: Session, tasks: readonly number[]): Promise<boolean> {
  return (await session.rows('depPlans', [numbers(tasks)])).length > 0;
}

/**
 * The same for several, in a transaction. A task that depends on unfinished ones, or on others that are revived with
 * it, waits for them.
 */
export async function reviveTogether(
  session: Session,
  { tasks, forget = [] }: ReviveParams,
  tried: Try,
): Promise<readonly ReviveAnswer[]> {
  const rootOf = await holdRoots(session, tasks);
  const plans = (await session.rows('depPlans', [numbers(tasks)])) as readonly (readonly [number, number])[];
  const ups = [...new Set(plans.map(([up]) => up))];
  const unfinished = new Set((await session.rows('depLock', [numbers(ups)])).map(([id]) => id as number));
  const rows = (await session.rows('doneLock', [numbers(tasks)])) as readonly (readonly [number, number, number])[];
  const removing = new Set(rows.filter(([, , flags]) => (flags & REMOVING) !== 0).map(([id]) => id));
  const finished = new Map(
    rows.flatMap(([id, attempt]) => (isRemoved(rootOf.get(id) ?? id, removing) ? [] : [[id, attempt] as const])),
  );
  const isOpen = (up: number): boolean => unfinished.has(up) || finished.has(up);
  const own = plans.filter(([up, down]) => finished.has(down) && isOpen(up));
  const watched = new Set(own.map(([up]) => up));
  if (unfinished.size > 0) await session.rows('depWatch', [numbers([...unfinished].filter((up) => watched.has(up)))]);
  const waits = Map.groupBy(own, ([, down]) => down);
  const revived = new Map<number, number>();
  for (const task of finished.keys()) {
    const open = waits.get(task)?.length ?? 0;
    const [row] = await session.all<{ lane: number }>('revive', [task, open, watched.has(task) ? WATCHED : 0, false]);
    if (row !== undefined) revived.set(task, row.lane);
  }
  const values = [numbers([...finished.keys()]), numbers([...finished.values()]), numbers([...watched])];
  if (finished.size > 0) await session.rows('depReopen', values);
  // Their rows are locked, so nothing is added to their journals meanwhile.
  const gone = forget.filter(({ task }) => revived.has(task));
  if (gone.length > 0) {
    await session.rows('journalForget', [numbers(gone.map(({ task }) => task)), texts(gone.map(({ key }) => key))]);
  }
  const answers: ReviveAnswer[] = [];
  for (const task of tasks) {
    const lane = revived.get(task);
    answers.push(lane === undefined ? await reviveTask(session, task, tried) : { ok: true, lane });
    revived.delete(task);
  }
  return answers;
}

/** A root, or that it is being removed. */
type Root = number | 'removing';

const isRemoved = (root: Root, removing: ReadonlySet<number>): boolean => root === 'removing' || removing.has(root);

/** Locks the other roots of these tasks until the commit, so that the pruner does not begin with their trees. */
async function holdRoots(session: Session, tasks: readonly number[]): Promise<ReadonlyMap<number, Root>> {
  const rows = (await session.rows('rootsOf', [numbers(tasks)])) as readonly (readonly [number, number | null])[];
  const members = rows.flatMap(([task, root]) => (root === null ? [] : [[task, root] as const]));
  const own = new Set(tasks);
  const others = [...new Set(members.map(([, root]) => root))].filter((root) => !own.has(root)).sort((a, b) => a - b);
  if (others.length === 0) return new Map(members);
  await session.rows('rootsLive', [numbers(others)]);
  const ended = (await session.rows('rootsDone', [numbers(others)])) as readonly (readonly [number, number])[];
  const removing = new Set(ended.filter(([, flags]) => (flags & REMOVING) !== 0).map(([id]) => id));
  return new Map(members.map(([task, root]) => [task, removing.has(root) ? 'removing' : root]));
}

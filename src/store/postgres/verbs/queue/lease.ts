import type { Lease } from '../../../../core/task/lease.ts';
import { reasonCode, stateCode } from '../../../codes.ts';
import { type AttemptWorkerRow, attemptWorkerOf } from '../../../rows/records.ts';
import type { AttemptWorker, DutyTerm, HeldTask, Overdue, ReapAnswer, ReapItem } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { requireRow } from '../admin/duty.ts';
import { giveBackAll } from '../trees/budget.ts';
import { countDownInto, endedOf, type Woken } from '../trees/countdown.ts';

export async function cancelledLeases(session: Session, holder: number): Promise<readonly Lease[]> {
  const rows = await session.all<{ id: number; attempt: number }>('cancels', [holder]);
  return rows.map(({ id, attempt }) => ({ task: id, attempt }));
}

export async function listLeases(
  session: Session,
  holders: readonly number[] | undefined,
): Promise<readonly HeldTask[]> {
  type Row = { id: number; attempt: number; holder: number; created_at: number };
  const rows =
    holders === undefined ? await session.all<Row>('held', []) : await session.all<Row>('heldBy', [numbers(holders)]);
  return rows.map(({ id, attempt, holder, created_at }) => ({ task: id, attempt, holder, createdAt: created_at }));
}

export async function attemptWorkers(
  session: Session,
  items: readonly Lease[],
): Promise<readonly (AttemptWorker | undefined)[]> {
  const values = [numbers(items.map(({ task }) => task)), numbers(items.map(({ attempt }) => attempt))];
  const rows = await session.all<AttemptWorkerRow & { task: number; n: number }>('attemptWorkers', values);
  const found = new Map(rows.map((row) => [`${row.task}/${row.n}`, attemptWorkerOf(row)]));
  return items.map(({ task, attempt }) => found.get(`${task}/${attempt}`));
}

export async function overdueLeases(session: Session, limit: number): Promise<Overdue> {
  const [first] = await session.all<{ next: number | null; up: number | null }>('firstExpiry', []);
  const firstInMs = first?.next ?? undefined;
  const upForMs = first?.up ?? undefined;
  if (firstInMs === undefined || firstInMs >= 0) return { leases: [], nextInMs: firstInMs, upForMs };
  const rows = await session.all<{
    id: number;
    attempt: number;
    spec: number;
    tries: number;
    max_tries: number;
    cancel: boolean;
    held: number | null;
  }>('overdue', [limit]);
  const [row] = await session.all<{ next: number | null }>('nextExpiry', []);
  return {
    leases: rows.map(({ id, attempt, spec, tries, max_tries: maxTries, cancel, held }) => {
      const heldForMs = held ?? undefined;
      return { task: id, attempt, spec, tries, maxTries, cancelRequested: cancel, heldForMs };
    }),
    nextInMs: row?.next === null || row === undefined ? undefined : Math.max(0, row.next),
    upForMs,
  };
}

export interface Reaped {
  readonly answer: ReapAnswer;
  /** Metered tasks, and those that would end and that something waits for. They are seen to in a transaction. */
  readonly left: readonly ReapItem[];
}

interface ReapedRow {
  readonly id: number | null;
  readonly lane: number;
  readonly ends: number;
  readonly watched: boolean;
  readonly metered: boolean;
}

/** The takeover: from this commit on the old attempt is refused. */
export async function reapLeases(
  session: Session,
  duty: DutyTerm,
  items: readonly ReapItem[],
  woken?: Woken,
): Promise<Reaped> {
  const rows = await session.all<ReapedRow>(woken === undefined ? 'reap' : 'reapWatched', [
    duty.name,
    duty.epoch,
    numbers(items.map(({ task }) => task)),
    numbers(items.map(({ attempt }) => attempt)),
    numbers(items.map(({ to }) => (to === 'again' ? 0 : stateCode(to)))),
    numbers(items.map(({ reason }) => reasonCode(reason))),
    numbers(items.map(({ delayMs }) => delayMs)),
  ]);
  requireRow(duty, rows[0]);
  const there = rows.filter(({ id }) => id !== null);
  const watched = there.filter((row) => row.watched);
  if (woken !== undefined) {
    const ended = watched.map(({ id, ends }) => endedOf(id as number, ends));
    await countDownInto(woken, session, ended);
    const metered = there.flatMap(({ id, metered: has }) => (has ? [id as number] : []));
    await giveBackAll(session, metered, woken, () => true);
  }
  const reaped = woken === undefined ? there.filter((row) => !row.watched) : there;
  const ready = reaped.filter(({ ends }) => ends === 0).map(({ lane }) => lane);
  const named = new Set(woken === undefined ? watched.map(({ id }) => id) : []);
  return {
    answer: { reaped: reaped.length, lanes: [...new Set(ready)] },
    left: items.filter(({ task }) => named.has(task)),
  };
}

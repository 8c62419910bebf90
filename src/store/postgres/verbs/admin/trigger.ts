import { FIRES_KEPT, NEVER } from '../../../../core/schedule/due.ts';
import {
  type FireRow,
  fireLineOf,
  type NewFireLine,
  type TriggerRow,
  type TriggerViewRow,
  triggerOf,
  triggerViewOf,
} from '../../../rows/records.ts';
import type {
  DueTriggers,
  FireLine,
  NewTrigger,
  TriggerRecord,
  TriggerResumption,
  TriggerView,
} from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import { prioOf, priorityOf } from '../../prio.ts';

export function triggerColumns(t: NewTrigger): readonly unknown[] {
  const { name, lane, spec, cron, timezone, missed, priority, maxTries, payload, nextAt } = t;
  return [name, lane, spec, cron, timezone, missed, prioOf(priority), maxTries, payload, nextAt];
}

export async function putTrigger(session: Session, t: NewTrigger): Promise<number | undefined> {
  const [row] = await session.all<{ next_at: number }>('triggerPut', triggerColumns(t));
  return row?.next_at;
}

/** Within a transaction: whoever fires it meanwhile holds its row, and its lines are seen by the second statement. */
export async function removeTrigger(session: Session, name: string): Promise<boolean> {
  const removed = await session.rows('triggerRemove', [name]);
  if (removed.length === 0) return false;
  await session.rows('triggerFiresDrop', [name, NEVER]);
  return true;
}

export async function listTriggers(session: Session): Promise<readonly TriggerView[]> {
  return (await session.all<TriggerViewRow>('triggerList', [])).map(viewOf);
}

export async function findTrigger(session: Session, name: string): Promise<TriggerView | undefined> {
  const [row] = await session.all<TriggerViewRow>('triggerFind', [name]);
  return row === undefined ? undefined : viewOf(row);
}

export async function listFires(session: Session, name: string, limit: number): Promise<readonly FireLine[]> {
  return (await session.all<FireRow>('triggerFires', [name, limit])).map(fireLineOf);
}

export async function pauseTrigger(session: Session, name: string): Promise<boolean> {
  return (await session.rows('triggerPause', [NEVER, name])).length > 0;
}

export async function resumeTrigger(session: Session, to: TriggerResumption): Promise<boolean> {
  return (await session.rows('triggerResume', [to.nextAt, to.name, to.cron, to.timezone])).length > 0;
}

/** Counts the lines to come and locks the trigger; answers the number of the last of them and the time. */
export async function countFires(
  session: Session,
  name: string,
  count: number,
): Promise<{ readonly fires: number; readonly now: number } | undefined> {
  const [row] = await session.all<{ fires: number; now: number }>('triggerCount', [count, name]);
  return row;
}

export async function noteFires(
  session: Session,
  name: string,
  { fires, now }: { readonly fires: number; readonly now: number },
  lines: readonly NewFireLine[],
): Promise<void> {
  await session.rows('triggerFireAdd', [
    name,
    fires - lines.length,
    now,
    lines.map(([slot]) => slot),
    lines.map(([, ends]) => ends),
    lines.map(([, , outcome]) => outcome),
    lines.map(([, , , task]) => task),
  ]);
  await session.rows('triggerFiresDrop', [name, fires - FIRES_KEPT]);
}

export async function dueTriggers(session: Session, limit: number): Promise<DueTriggers> {
  const [{ now, at: first } = { now: 0, at: null }] = await session.all<{ now: number; at: number | null }>(
    'triggerFirst',
    [],
  );
  if (first === null || first > now) return { now, triggers: [], nextInMs: first === null ? undefined : first - now };
  const rows = await session.all<TriggerRow>('triggerDue', [now, limit]);
  const [next] = await session.all<{ at: number | null }>('triggerNext', [now]);
  const at = next?.at ?? undefined;
  return { now, triggers: rows.map(recordOf), nextInMs: at === undefined ? undefined : Math.max(0, at - now) };
}

const recordOf = (row: TriggerRow): TriggerRecord => triggerOf(row, priorityOf(row.prio));
const viewOf = (row: TriggerViewRow): TriggerView => triggerViewOf(row, priorityOf(row.prio));

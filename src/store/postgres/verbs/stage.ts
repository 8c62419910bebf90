import type { DutyTerm, ExpireAnswer, StageAnswer } from '../../store.ts';
import type { Session } from '../database.ts';
import { requireRow } from './duty.ts';

export async function stageTasks(session: Session, duty: DutyTerm, limit: number): Promise<StageAnswer> {
  const rows = await session.all<{ id: number | null; lane: number }>('stage', [duty.name, duty.epoch, limit]);
  requireRow(duty, rows[0]);
  const staged = rows.filter(({ id }) => id !== null);
  const [next] = await session.all<{ next: number }>('stageNext', []);
  return {
    staged: staged.length,
    lanes: [...new Set(staged.map(({ lane }) => lane))],
    nextInMs: next && Math.max(0, next.next),
  };
}

/** Only what was never claimed: from its first claim on a task has had its start. */
export async function expireTasks(session: Session, duty: DutyTerm, limit: number): Promise<ExpireAnswer> {
  const rows = await session.all<{ id: number | null }>('expire', [duty.name, duty.epoch, limit]);
  requireRow(duty, rows[0]);
  const [next] = await session.all<{ next: number }>('expireNext', []);
  return { expired: rows.filter(({ id }) => id !== null).length, nextInMs: next && Math.max(0, next.next) };
}

import type { DutyTerm, ExpireAnswer, StageAnswer } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import type { ServerLook } from '../admin/clock-steps.ts';
import { requireRow } from '../admin/duty.ts';
import { countDownInto, type Ended, type Woken } from '../trees/countdown.ts';

/**
 * How long until a duty finds work; 0 or less: now. Mostly there is none, and nothing is locked: transactions of a
 * process that was starved of CPU have blocked the duty's row for most of a second.
 */
export async function expireLook(session: Session, { name, epoch }: DutyTerm): Promise<number | undefined> {
  const [row] = await session.all<{ next: number | null }>('expireLook', [name, epoch]);
  return requireRow({ name, epoch }, row).next ?? undefined;
}

/** The same for due tasks, with what tells whether the server's clock was set back. */
export async function stageLook(
  session: Session,
  { name, epoch }: DutyTerm,
): Promise<ServerLook & { readonly next: number | null }> {
  const [row] = await session.all<ServerLook & { readonly next: number | null }>('stageLook', [name, epoch]);
  return requireRow({ name, epoch }, row);
}

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

/**
 * Only tasks that were never claimed expire. Without `woken`, tasks that something waits for are left, and `more` says
 * that there are some.
 */
export async function expireTasks(
  session: Session,
  duty: DutyTerm,
  limit: number,
  woken?: Woken,
): Promise<ExpireAnswer & { readonly more: boolean }> {
  const name = woken === undefined ? 'expire' : 'expireWatched';
  const rows = await session.all<{ id: number | null; watched: boolean }>(name, [duty.name, duty.epoch, limit]);
  requireRow(duty, rows[0]);
  const there = rows.filter(({ id }) => id !== null);
  const watched = there.filter((row) => row.watched);
  if (woken !== undefined) {
    const ended = watched.map(({ id }): Ended => ({ task: id as number, state: 'failed' }));
    await countDownInto(woken, session, ended);
  }
  const more = woken === undefined && watched.length > 0;
  const [next] = await session.all<{ next: number }>('expireNext', []);
  return {
    expired: more ? there.length - watched.length : there.length,
    nextInMs: next && Math.max(0, next.next),
    more,
  };
}

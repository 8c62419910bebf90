import { NEVER } from '../../../../core/schedule/due.ts';
import { MOST_DECISIONS, MOST_OLD_TICKETS } from '../../../port/pool-store.ts';
import {
  decisionOf,
  memberOf,
  membersIn,
  type PoolLookRow,
  type PoolMemberRow,
  type PoolRow,
  poolOf,
  type TicketFailuresRow,
  type TicketRow,
  ticketOf,
} from '../../../rows/pool-rows.ts';
import type {
  DecisionRecord,
  NewDecision,
  PoolAct,
  PoolActed,
  PoolAsk,
  PoolLook,
  PoolMember,
  PoolPage,
  PoolPut,
  PoolPutAnswer,
  PoolRecord,
  TicketNote,
  TicketRecord,
} from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

interface Stand {
  readonly revision: number;
  readonly now: number;
}

export async function getPool(session: Session, name: string): Promise<PoolRecord | undefined> {
  const [row] = await session.all<PoolRow>('poolGet', [name]);
  return row && poolOf(row);
}

export async function listPools(session: Session, after: string, limit: number): Promise<readonly PoolRecord[]> {
  return (await session.all<PoolRow>('poolList', [after, limit])).map(poolOf);
}

/** In a transaction, which locks the pool, whether it existed or not. */
export async function putPool(session: Session, { name, body, by, revision }: PoolPut): Promise<PoolPutAnswer> {
  await session.raw('SAVEPOINT pool');
  await session.rows('poolMake', [name]);
  const [stand] = (await session.all<Stand>('poolHold', [name])) as [Stand];
  if (revision !== undefined && revision !== stand.revision) {
    await session.raw('ROLLBACK TO SAVEPOINT pool');
    return { kind: 'changed' };
  }
  // It begins with the time: a name that was freed and taken again does not come back to it.
  const next = Math.max(stand.now, stand.revision + 1);
  await session.rows('poolSet', [name, body, next, stand.now, by]);
  return { kind: 'done', revision: next };
}

/** In a transaction. The pool is locked first, as a check does. */
export async function removePool(session: Session, name: string): Promise<boolean> {
  const removed = await session.rows('poolDrop', [name]);
  await session.rows('poolTicketsDrop', [name]);
  await session.rows('poolDecisionsDrop', [name]);
  return removed.length > 0;
}

export async function lookAtPool(session: Session, { name, staleMs }: PoolAsk): Promise<PoolLook | undefined> {
  const pool = await getPool(session, name);
  if (pool === undefined) return undefined;
  const rows = await session.all<PoolLookRow & { readonly now: number }>('poolLook', [name, staleMs]);
  const [count] = rows as [PoolLookRow & { readonly now: number }];
  const [failed] = (await session.all<TicketFailuresRow>('ticketFailures', [name])) as [TicketFailuresRow];
  return {
    now: count.now,
    pool,
    open: count.open,
    overdue: count.overdue,
    nextExpiry: count.next ?? undefined,
    failures: failed.failures,
    failedAt: failed.failed_at ?? undefined,
    members: membersIn(rows),
    last: (await listDecisions(session, { pool: name, before: NEVER, limit: 1 }))[0],
  };
}

async function membersOf(session: Session, pool: string, staleMs: number): Promise<readonly PoolMember[]> {
  return (await session.all<PoolMemberRow>('poolMembers', [pool, staleMs])).map(memberOf);
}

/** In a transaction. The pool is locked first: of several checks at once each counts what the one before has reserved. */
export async function actOnPool(session: Session, act: PoolAct): Promise<PoolActed | undefined> {
  const { name, staleMs, ttlMs, upTo } = act;
  const [stand] = await session.all<Stand>('poolHold', [name]);
  if (stand === undefined) return undefined;
  const expired = (await session.rows('ticketsExpire', [name])).length;
  await noteSeen(session, await membersOf(session, name, staleMs), stand.now);
  const [{ there }] = (await session.all<{ there: number }>('poolCount', [name, staleMs])) as [{ there: number }];
  const tickets = act.tickets.slice(0, Math.max(0, upTo - there));
  const reserved = tickets.length;
  if (reserved > 0) {
    const columns = [texts(tickets.map(({ id }) => id)), texts(tickets.map(({ hash }) => hash))];
    await session.rows('ticketAdd', [name, ...columns, ttlMs]);
  }
  const sent =
    act.drain.length === 0 ? [] : await session.all<{ id: number }>('workersSend', [numbers(act.drain), name]);
  const drained = sent.map(({ id }) => id).sort((a, b) => a - b);
  await session.rows('poolChanged', [name, reserved > 0, drained.length > 0]);
  await session.rows('ticketsPrune', [name, MOST_OLD_TICKETS]);
  if (act.decision !== undefined) await keep(session, name, act.decision, { reserved, drained: drained.length });
  return { reserved, there: there + reserved, expired, drained };
}

/** Of checks at the same time those that came to nothing say what the first one has said. */
async function keep(
  session: Session,
  pool: string,
  { course, body }: NewDecision,
  { reserved, drained }: { readonly reserved: number; readonly drained: number },
): Promise<void> {
  const [last] = await listDecisions(session, { pool, before: NEVER, limit: 1 });
  if (reserved + drained === 0 && last?.course === course) return;
  const [row] = await session.all<{ n: number }>('decisionAdd', [pool, course, body, reserved, drained]);
  await session.rows('decisionsPrune', [pool, (row as { n: number }).n - MOST_DECISIONS]);
}

/** Since when workers have had no task, for the next look. */
async function noteSeen(session: Session, members: readonly PoolMember[], now: number): Promise<void> {
  const seen = members.flatMap(({ ticket, running, idleSince, seenEnded, ended }) => {
    if (ticket === undefined) return [];
    const since = running > 0 ? undefined : idleSince === undefined || seenEnded !== ended ? now : idleSince;
    return since === idleSince && seenEnded === ended ? [] : [{ ticket, since, ended }];
  });
  if (seen.length === 0) return;
  await session.rows('ticketsSeen', [
    texts(seen.map(({ ticket }) => ticket)),
    numbers(seen.map(({ since }) => since)),
    numbers(seen.map(({ ended }) => ended)),
  ]);
}

export async function noteTicket(session: Session, { id, started, error }: TicketNote): Promise<void> {
  if (error === undefined) await session.rows('ticketStarted', [id, started]);
  else await session.rows('ticketFail', [id, error]);
}

export async function listTickets(
  session: Session,
  { pool, before, limit }: PoolPage,
): Promise<readonly TicketRecord[]> {
  return (await session.all<TicketRow>('ticketList', [pool, before, limit])).map(ticketOf);
}

export async function listDecisions(
  session: Session,
  { pool, before, limit }: PoolPage,
): Promise<readonly DecisionRecord[]> {
  return (await session.all<DecisionRecord>('decisionList', [pool, before, limit])).map(decisionOf);
}

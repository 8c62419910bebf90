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
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function getPool(sql: Prepared, name: string): PoolRecord | undefined {
  const row = sql.get('poolGet').get(name) as PoolRow | undefined;
  return row && poolOf(row);
}

export function listPools(sql: Prepared, after: string, limit: number): readonly PoolRecord[] {
  return (sql.get('poolList').all(after, limit) as unknown as PoolRow[]).map(poolOf);
}

export function putPool({ sql, now }: Transaction, { name, body, by, revision }: PoolPut): PoolPutAnswer {
  const before = getPool(sql, name)?.revision ?? 0;
  if (revision !== undefined && revision !== before) return { kind: 'changed' };
  // It begins with the time: a name that was freed and taken again does not come back to it.
  const next = Math.max(now, before + 1);
  sql.get('poolSet').run(name, body, next, now, by);
  return { kind: 'done', revision: next };
}

export function removePool({ sql }: Transaction, name: string): boolean {
  sql.get('poolTicketsDrop').run(name);
  sql.get('poolDecisionsDrop').run(name);
  return sql.get('poolDrop').run(name).changes > 0;
}

export function lookAtPool(sql: Prepared, { name, staleMs }: PoolAsk, now: number): PoolLook | undefined {
  const pool = getPool(sql, name);
  if (pool === undefined) return undefined;
  const rows = sql.get('poolLook').all(now, staleMs, name) as unknown as [PoolLookRow, ...PoolLookRow[]];
  const [{ open, overdue, next }] = rows;
  const failed = sql.get('ticketFailures').get(name) as unknown as TicketFailuresRow;
  return {
    now,
    pool,
    open,
    overdue,
    nextExpiry: next ?? undefined,
    failures: failed.failures,
    failedAt: failed.failed_at ?? undefined,
    members: membersIn(rows),
    last: listDecisions(sql, { pool: name, before: NEVER, limit: 1 })[0],
  };
}

function membersOf(sql: Prepared, pool: string, staleMs: number, now: number): readonly PoolMember[] {
  return (sql.get('poolMembers').all(now, staleMs, pool) as unknown as PoolMemberRow[]).map(memberOf);
}

export function actOnPool(tx: Transaction, act: PoolAct): PoolActed | undefined {
  const { sql, now, leaseNow } = tx;
  const { name, staleMs, ttlMs } = act;
  if (getPool(sql, name) === undefined) return undefined;
  const expired = Number(sql.get('ticketsExpire').run(leaseNow, name).changes);
  const members = membersOf(sql, name, staleMs, leaseNow);
  noteSeen(sql, members, leaseNow);
  const { there } = sql.get('poolCount').get(leaseNow, staleMs, name) as { there: number };
  const reserved = Math.max(0, Math.min(act.tickets.length, act.upTo - there));
  for (const { id, hash } of act.tickets.slice(0, reserved))
    sql.get('ticketAdd').run(id, name, hash, now, leaseNow, leaseNow + ttlMs);
  const drained = members
    .filter(({ worker, running, leaving, ticket }) => {
      return act.drain.includes(worker) && running === 0 && !leaving && ticket !== undefined;
    })
    .map(({ worker }) => worker);
  for (const worker of drained) sql.get('workerSend').run(leaseNow, worker);
  sql.get('poolChanged').run(reserved > 0 ? leaseNow : null, drained.length > 0 ? leaseNow : null, name);
  sql.get('ticketsPrune').run(name, MOST_OLD_TICKETS);
  if (act.decision !== undefined) keep(tx, name, act.decision, { reserved, drained: drained.length });
  return { reserved, there: there + reserved, expired, drained };
}

/** Of checks at the same time those that came to nothing say what the first one has said. */
function keep(
  { sql, now }: Transaction,
  pool: string,
  { course, body }: NewDecision,
  { reserved, drained }: { readonly reserved: number; readonly drained: number },
): void {
  const [last] = listDecisions(sql, { pool, before: NEVER, limit: 1 });
  if (reserved + drained === 0 && last?.course === course) return;
  const { n } = sql.get('decisionAdd').get(pool, now, course, body, reserved, drained) as { n: number };
  sql.get('decisionsPrune').run(pool, n - MOST_DECISIONS);
}

/** Since when workers have had no task, for the next look. */
function noteSeen(sql: Prepared, members: readonly PoolMember[], now: number): void {
  for (const { ticket, running, idleSince, seenEnded, ended } of members) {
    if (ticket === undefined) continue;
    const since = running > 0 ? null : idleSince === undefined || seenEnded !== ended ? now : idleSince;
    if (since !== (idleSince ?? null) || seenEnded !== ended) sql.get('ticketSeen').run(since, ended, ticket);
  }
}

export function noteTicket({ sql, leaseNow }: Transaction, { id, started, error }: TicketNote): void {
  if (error === undefined) sql.get('ticketStarted').run(started, id);
  else sql.get('ticketFail').run(error, leaseNow, id);
}

export function listTickets(sql: Prepared, { pool, before, limit }: PoolPage): readonly TicketRecord[] {
  return (sql.get('ticketList').all(pool, before, limit) as unknown as TicketRow[]).map(ticketOf);
}

export function listDecisions(sql: Prepared, { pool, before, limit }: PoolPage): readonly DecisionRecord[] {
  return (sql.get('decisionList').all(pool, before, limit) as unknown as DecisionRecord[]).map(decisionOf);
}

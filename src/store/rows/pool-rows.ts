import { TICKET_STATES, type TicketFacts, type TicketState } from '../../core/pools/ticket.ts';
import type { DecisionRecord, PoolMember, PoolRecord, TicketRecord } from '../port/pool-store.ts';

/** Pools from rows whose columns have the same names in every store. */

export interface PoolRow {
  readonly name: string;
  readonly body: string;
  readonly revision: number;
  readonly created_at: number;
  readonly changed_at: number;
  readonly changed_by: string;
  readonly up_at: number | null;
  readonly down_at: number | null;
}

export function poolOf(row: PoolRow): PoolRecord {
  return {
    name: row.name,
    body: row.body,
    revision: row.revision,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    changedBy: row.changed_by,
    upAt: row.up_at ?? undefined,
    downAt: row.down_at ?? undefined,
  };
}

export interface PoolMemberRow {
  readonly worker: number;
  readonly name: string;
  readonly running: number;
  readonly leaving_at: number | null;
  readonly ticket: string | null;
  readonly idle_since: number | null;
  readonly seen_ended: number | null;
  readonly ended: number | null;
}

export function memberOf(row: PoolMemberRow): PoolMember {
  return {
    worker: row.worker,
    name: row.name,
    running: row.running,
    leaving: row.leaving_at !== null,
    ticket: row.ticket ?? undefined,
    idleSince: row.idle_since ?? undefined,
    seenEnded: row.seen_ended ?? undefined,
    ended: row.ended ?? 0,
  };
}

/** How the open tickets of a pool stand, beside one of its members or none. */
export type PoolLookRow = {
  readonly open: number;
  readonly overdue: number;
  readonly next: number | null;
} & (PoolMemberRow | { readonly worker: null });

export function membersIn(rows: readonly PoolLookRow[]): readonly PoolMember[] {
  const members = rows.flatMap((row) => (row.worker === null ? [] : [memberOf(row)]));
  return members.sort((a, b) => a.worker - b.worker);
}

export interface TicketFailuresRow {
  readonly failures: number;
  readonly failed_at: number | null;
}

export interface TicketRow {
  readonly n: number;
  readonly id: string;
  readonly state: number;
  readonly at: number;
  readonly expires_at: number;
  readonly ended_at: number | null;
  readonly started: string | null;
  readonly error: string | null;
  readonly worker: number | null;
}

export function ticketOf(row: TicketRow): TicketRecord {
  return {
    n: row.n,
    id: row.id,
    state: TICKET_STATES[row.state] as TicketState,
    at: row.at,
    expiresAt: row.expires_at,
    endedAt: row.ended_at ?? undefined,
    started: row.started ?? undefined,
    error: row.error ?? undefined,
    worker: row.worker ?? undefined,
  };
}

export function decisionOf({ n, at, course, body, launched, drained }: DecisionRecord): DecisionRecord {
  return { n, at, course, body, launched, drained };
}

/** A ticket as `workerRegister` finds it. */
export interface HeldTicketRow {
  readonly state: number;
  readonly expires_at: number;
  readonly pool: string;
}

export function factsOf({ state, expires_at: expiresAt }: HeldTicketRow): TicketFacts {
  return { state: TICKET_STATES[state] as TicketState, expiresAt };
}

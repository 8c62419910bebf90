import { WORKER_STATES, type WorkerState } from '../../../../core/placement/worker.ts';
import { checkTicket } from '../../../../core/pools/ticket.ts';
import { mergeBeats } from '../../../beats.ts';
import { factsOf, type HeldTicketRow } from '../../../rows/pool-rows.ts';
import { LOSSES_KEPT } from '../../../rows/reaction-rows.ts';
import { type WorkerRow, workerOf } from '../../../rows/records.ts';
import type { FleetMember, Forgotten, NewTicket, NewWorker, WorkerBeat, WorkerRecord } from '../../../store.ts';
import { allTags, takenIncarnation } from '../../../worker-settings.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { heldLabels, leaveCredentials } from '../admin/credential.ts';
import { revokeTokensNamed } from '../admin/token.ts';
import { requireName, takeName } from './worker-name.ts';
import { findSetting } from './worker-setting.ts';

export function registerWorker(tx: Transaction, worker: NewWorker): number {
  const { name, incarnation, slots, tags, host = null, pid = null, handlers = [], queues, version = null } = worker;
  if (worker.takes !== undefined) requireName(tx, name, worker.takes);
  const brought = worker.redeems === undefined ? undefined : redeem(tx, worker.redeems, incarnation);
  const setting = findSetting(tx.sql, name);
  const known = tx.sql.get('workerKnown').get(incarnation) !== undefined;
  const row = tx.sql
    .get('workerAdd')
    .get(
      name,
      incarnation,
      slots,
      JSON.stringify(tags),
      tx.leaseNow,
      host,
      pid,
      tx.now,
      JSON.stringify(handlers),
      queues === undefined ? null : JSON.stringify(queues),
      version,
      JSON.stringify(allTags(tags, setting.tags, heldLabels(tx.sql, name))),
      setting.enabled ? 1 : 0,
      setting.priority ?? worker.priority ?? 0,
      worker.priority ?? 0,
      worker.address ?? null,
      brought?.pool ?? worker.pool ?? null,
      worker.beatMs ?? null,
      worker.staleMs ?? null,
      worker.redeems?.id ?? null,
    );
  if (row === undefined) throw takenIncarnation(name);
  const { id } = row as { id: number };
  if (worker.redeems !== undefined && brought?.fresh === true)
    tx.sql.get('ticketUse').run(tx.leaseNow, id, worker.redeems.id);
  if (worker.takes !== undefined) takeName(tx, worker, worker.takes);
  if (worker.told === true && !known) tx.ledger.noteWorker('registered', id, tx.now);
  return id;
}

/**
 * Refuses a ticket that is not good. The incarnation that has redeemed it may register again: its answer may have been lost, or its
 * connection.
 */
function redeem(
  { sql, leaseNow }: Transaction,
  { id, hash }: NewTicket,
  incarnation: string,
): { readonly pool: string; readonly fresh: boolean } {
  const before = sql.get('workerBrought').get(incarnation, id) as { pool: string } | undefined;
  if (before !== undefined) return { pool: before.pool, fresh: false };
  const row = sql.get('ticketHeld').get(id, hash) as HeldTicketRow | undefined;
  checkTicket(row && factsOf(row), leaseNow);
  return { pool: (row as HeldTicketRow).pool, fresh: true };
}

export function forgetWorker(tx: Transaction, name: string): Forgotten {
  const setting = tx.sql.get('settingDrop').run(name).changes > 0;
  tx.sql.get('workersRevise').run(name);
  tx.sql.get('schemaDrop').run(name);
  leaveCredentials(tx, name);
  return { setting, tokens: revokeTokensNamed(tx, name) };
}

/** Most beats change nothing else, and one statement handles all of them. */
export function beatAll(tx: Transaction, beats: readonly WorkerBeat[]): readonly boolean[] {
  const merged = mergeBeats(beats);
  /** Worker → when it registered. */
  const known = new Map<number, number>();
  for (const [state, some] of Map.groupBy(merged.filter(isPlain), (one) => one.state)) {
    const ids = JSON.stringify(some.map(({ worker }) => worker));
    const rows = tx.sql.get('workerBeats').all(tx.leaseNow, codeOf(state), ids) as unknown as BornRow[];
    for (const { id, started_at: born } of rows) known.set(id, born ?? 0);
  }
  for (const one of merged) if (!isPlain(one) && beat(tx, one)) known.set(one.worker, bornOf(tx.sql, one.worker));
  for (const { worker, ended = 0, told = false } of merged) {
    const born = known.get(worker);
    if (born === undefined) continue;
    if (ended > 0) tx.sql.get('totalAdd').run(ended, worker);
    if (told) tx.ledger.noteWorker('beat', worker, born);
  }
  return beats.map(({ worker }) => known.has(worker));
}

interface BornRow {
  readonly id: number;
  readonly started_at: number | null;
}

/** The beat has neither status nor metadata. */
function isPlain({ status, metadata }: WorkerBeat): boolean {
  return status === undefined && metadata === undefined;
}

function codeOf(state: WorkerBeat['state']): number | null {
  return state === undefined ? null : WORKER_STATES.indexOf(state);
}

function bornOf(sql: Prepared, worker: number): number {
  const row = sql.get('workerBorn').get(worker) as { started_at: number | null } | undefined;
  return row?.started_at ?? 0;
}

function beat(tx: Transaction, { worker, state, status, metadata }: WorkerBeat): boolean {
  const given = (value: string | null | undefined): [number, string | null] => [
    value === undefined ? 0 : 1,
    value ?? null,
  ];
  const { changes } = tx.sql
    .get('workerBeat')
    .run(tx.leaseNow, codeOf(state), ...given(status), ...given(metadata), worker);
  return changes > 0;
}

/** Whether a worker is to be marked. Mostly there is none, and nothing is written. */
export function someSilent(sql: Prepared, leaseNow: number, staleMs: number): boolean {
  return sql.get('workerSilent').get(leaseNow, staleMs) !== undefined;
}

export function reapWorkers(tx: Transaction, staleMs: number): readonly number[] {
  const rows = tx.sql.get('workerReap').all(tx.leaseNow, staleMs) as unknown as { id: number }[];
  const ids = rows.map(({ id }) => id).sort((a, b) => a - b);
  for (const id of ids) tx.sql.get('workerLossAdd').run(id, tx.now);
  if (ids.length > 0) tx.sql.get('workerLossDrop').run(LOSSES_KEPT);
  return ids;
}

export function listFleet(sql: Prepared): readonly FleetMember[] {
  const rows = sql.get('workerFleet').all() as unknown as (WorkerRow & { readonly running: number })[];
  return rows.map((row) => ({ ...workerOf(row), running: row.running }));
}

export function listWorkers(sql: Prepared, state?: WorkerState): readonly WorkerRecord[] {
  const rows =
    state === undefined ? sql.get('workerList').all() : sql.get('workerIn').all(WORKER_STATES.indexOf(state));
  return (rows as unknown as WorkerRow[]).map(workerOf);
}

import { WORKER_STATES } from '../../../core/worker.ts';
import { type WorkerRow, workerOf } from '../../records.ts';
import type { NewWorker, WorkerBeat, WorkerRecord } from '../../store.ts';
import type { Prepared } from '../connection.ts';
import type { Transaction } from '../transaction.ts';

export function registerWorker(tx: Transaction, worker: NewWorker): number {
  const { name, incarnation, slots, tags, host = null, pid = null, handlers = [] } = worker;
  const row = tx.sql
    .get('workerAdd')
    .get(name, incarnation, slots, JSON.stringify(tags), tx.leaseNow, host, pid, tx.now, JSON.stringify(handlers));
  return (row as { id: number }).id;
}

export function beat(tx: Transaction, { worker, state, status, metadata }: WorkerBeat): boolean {
  const given = (value: string | null | undefined): [number, string | null] => [
    value === undefined ? 0 : 1,
    value ?? null,
  ];
  const code = state === undefined ? null : WORKER_STATES.indexOf(state);
  const { changes } = tx.sql.get('workerBeat').run(tx.leaseNow, code, ...given(status), ...given(metadata), worker);
  return changes > 0;
}

/** Whether there is one to mark: mostly there is none, and then nothing is written. */
export function someSilent(sql: Prepared, leaseNow: number, staleMs: number): boolean {
  return sql.get('workerSilent').get(leaseNow - staleMs) !== undefined;
}

export function reapWorkers(tx: Transaction, staleMs: number): readonly number[] {
  const rows = tx.sql.get('workerReap').all(tx.leaseNow - staleMs) as unknown as { id: number }[];
  return rows.map(({ id }) => id).sort((a, b) => a - b);
}

export function listWorkers(sql: Prepared): readonly WorkerRecord[] {
  return (sql.get('workerList').all() as unknown as WorkerRow[]).map(workerOf);
}

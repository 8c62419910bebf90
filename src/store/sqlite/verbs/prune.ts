import type { PruneAnswer, PruneQuery } from '../../store.ts';
import type { Transaction } from '../transaction.ts';
import { pruneNodes } from './node.ts';

interface Walked {
  readonly id: number;
  readonly ended_at: number | null;
}

/**
 * One step. Tasks are walked by id from the duty's cursor, which wraps: an index on `ended_at` would cost 15 % of every
 * drain. Events go from the oldest on and never the newest row.
 */
export function prune(tx: Transaction, query: PruneQuery, cursor: number): PruneAnswer {
  const before = tx.now - query.retentionMs;
  const rows = tx.sql.get('pruneWalk').all(cursor, query.limit) as unknown as Walked[];
  let tasks = 0;
  for (const row of rows) {
    if (row.ended_at === null || row.ended_at >= before) continue;
    if (tx.sql.get('pruneTask').run(row.id, before).changes === 0) continue;
    tx.sql.get('bodyDrop').run(row.id);
    tx.sql.get('pruneAttempts').run(row.id);
    tx.sql.get('pruneLog').run(row.id);
    tx.sql.get('pruneDeps').run(row.id);
    tx.sql.get('waitDrop').run(row.id);
    tx.sql.get('pruneCheckpoints').run(row.id);
    tx.sql.get('pruneCheckpointBodies').run(row.id);
    // The key goes with its task, not with its window: a revived task is unfinished and holds its key again.
    tx.sql.get('pruneUniq').run(row.id);
    for (const gone of tx.sql.get('pruneDocument').all(row.id)) {
      tx.sql.get('pruneDocumentRoot').run((gone as { root: string }).root);
    }
    tasks++;
  }
  const round = rows.length < query.limit;
  tx.sql.get('dutyCursor').run(round ? 0 : (rows.at(-1) as Walked).id, query.duty.name, query.duty.epoch);
  const events = pruneEvents(tx, before, query.limit);
  tx.sql.get('pruneOps').run(tx.now, query.limit);
  const results = Number(tx.sql.get('pruneResults').run(tx.now, query.limit).changes);
  const signals = Number(tx.sql.get('pruneSignals').run(query.limit, before).changes);
  const tokens = Number(tx.sql.get('pruneTokens').run(before, query.limit).changes);
  pruneNodes(tx);
  // Beats are told in lease time.
  const workers = Number(tx.sql.get('pruneWorkers').run(tx.leaseNow - query.retentionMs, query.limit).changes);
  if (workers > 0) tx.sql.get('pruneTotals').run();
  return {
    tasks,
    events: events.removed,
    workers,
    done: round && events.done && Math.max(workers, signals, results, tokens) < query.limit,
  };
}

function pruneEvents(tx: Transaction, before: number, limit: number): { removed: number; done: boolean } {
  const rows = tx.sql.get('pruneEventsLook').all(limit) as unknown as { seq: number; n: number; at: number }[];
  // In the order of their commits, not of their times: the clock may have been ahead for a while, and an event from a far
  // future must not keep all that follow it.
  const isOld = ({ at }: { readonly at: number }): boolean => at < before || at > tx.now + (tx.now - before);
  const old = rows.slice(0, rows.findLastIndex(isOld) + 1);
  const last = old.at(-1);
  if (last === undefined) return { removed: 0, done: true };
  const rowsGone = Number(tx.sql.get('pruneEvents').run(last.seq).changes);
  const removed = old.slice(0, rowsGone).reduce((sum, { n }) => sum + n, 0);
  return { removed, done: rowsGone < limit };
}

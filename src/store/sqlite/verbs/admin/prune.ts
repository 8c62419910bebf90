import { REMOVING, TREE } from '../../../codes.ts';
import type { PruneAnswer, PruneQuery } from '../../../store.ts';
import type { Transaction } from '../../file/transaction.ts';
import { pruneNodes } from './node.ts';

interface Walked {
  readonly id: number;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly root: number | null;
  readonly flags: number;
}

/**
 * One step. Tasks are walked by id from the duty's cursor, which wraps: an index on `ended_at` would cost 15 % of every
 * drain. Events go from the oldest on, and the newest row always stays.
 */
export function prune(tx: Transaction, query: PruneQuery, cursor: number): PruneAnswer {
  const before = tx.now - query.retentionMs;
  const walk = walkTasks(tx, query, before, cursor);
  tx.sql.get('dutyCursor').run(walk.cursor, query.duty.name, query.duty.epoch);
  const events = pruneEvents(tx, before, query.limit);
  tx.sql.get('pruneOps').run(tx.now, query.limit);
  const results = Number(tx.sql.get('pruneResults').run(tx.now, query.limit).changes);
  const signals = walk.round ? pruneSignals(tx, before, query) : 0;
  const tokens = Number(tx.sql.get('pruneTokens').run(before, query.limit).changes);
  const sessions = Number(tx.sql.get('pruneBrowserSessions').run(tx.now, query.limit).changes);
  // A definition that a run names stays with the run, however old.
  const definitions = walk.round ? Number(tx.sql.get('pruneDefinitions').run(before, query.limit).changes) : 0;
  pruneNodes(tx);
  // Beats are in lease time.
  const workers = Number(tx.sql.get('pruneWorkers').run(tx.leaseNow - query.retentionMs, query.limit).changes);
  if (workers > 0) tx.sql.get('pruneTotals').run();
  return {
    tasks: walk.tasks,
    events: events.removed,
    workers,
    done: walk.round && events.done && Math.max(workers, signals, results, tokens, sessions, definitions) < query.limit,
  };
}

interface Walk {
  readonly tasks: number;
  /** Where the next step begins. */
  readonly cursor: number;
  /** The walk has wrapped. */
  readonly round: boolean;
}

/**
 * The walk turns back at the first task that is younger than the retention: those behind it came later. When it went over all of them, 20
 * steps a second, it was busy for 341 ms of a drain of 40,000 tasks. A task from when the clock was ahead turns nothing back.
 *
 * A tree goes with its root, as a whole. If that is too much for one step, the next one begins at the same root. */
function walkTasks(tx: Transaction, { limit }: PruneQuery, before: number, cursor: number): Walk {
  const rows = tx.sql.get('pruneWalk').all(cursor, limit) as unknown as Walked[];
  const young = rows.findIndex(({ created_at: at }) => at >= before && at <= tx.now);
  let tasks = 0;
  for (const row of young === -1 ? rows : rows.slice(0, young)) {
    if (row.ended_at === null || row.ended_at >= before || row.root !== null) continue;
    if (row.flags & TREE) {
      if ((row.flags & REMOVING) === 0 && !beginRemoval(tx, row.id, before)) continue;
      const members = tx.sql.get('treeRest').all(row.id, limit - tasks) as unknown as { id: number }[];
      for (const { id } of members) tasks += remove(tx, id, before);
      if (tx.sql.get('treeRest').all(row.id, 1).length > 0) return { tasks, cursor: row.id - 1, round: false };
    } else if (tx.sql.get('pruneNeeded').get(row.id) !== undefined) {
      continue;
    }
    tasks += remove(tx, row.id, before);
  }
  const round = young !== -1 || rows.length < limit;
  return { tasks, cursor: round ? 0 : (rows.at(-1) as Walked).id, round };
}

/** True: no member is unfinished or too young, and no other task needs one. From here on no member can be revived. */
function beginRemoval(tx: Transaction, root: number, before: number): boolean {
  if (tx.sql.get('treeOpen').get(root, before) !== undefined) return false;
  if (tx.sql.get('pruneNeeded').get(root) !== undefined || tx.sql.get('treeNeeded').get(root) !== undefined)
    return false;
  return tx.sql.get('treeRemove').run(root, before).changes > 0;
}

function remove(tx: Transaction, task: number, before: number): number {
  if (tx.sql.get('pruneTask').run(task, before).changes === 0) return 0;
  tx.sql.get('bodyDrop').run(task);
  tx.sql.get('pruneAttempts').run(task);
  tx.sql.get('pruneLog').run(task);
  tx.sql.get('pruneDeps').run(task);
  tx.sql.get('waitDrop').run(task);
  tx.sql.get('pruneJournal').run(task);
  tx.sql.get('pruneRun').run(task);
  tx.sql.get('pruneAllowances').run(task);
  tx.sql.get('pruneBudgets').run(task);
  // A unique key goes with its task, not with its window: a revived task is unfinished and holds its key again.
  tx.sql.get('pruneUniq').run(task);
  for (const gone of tx.sql.get('pruneDocument').all(task)) {
    tx.sql.get('pruneDocumentRoot').run((gone as { root: string }).root);
  }
  return 1;
}

/** A signal stays for the retention, and as long as a task is unfinished that existed in that time and may wait for it. */
function pruneSignals(tx: Transaction, before: number, { retentionMs, limit }: PruneQuery): number {
  const first = tx.sql.get('signalFirst').get() as { at: number } | undefined;
  if (first === undefined || first.at >= before) return 0;
  const oldest = tx.sql.get('oldestUnfinished').get() as { created_at: number } | undefined;
  const until = oldest === undefined ? before : Math.min(before, oldest.created_at - retentionMs);
  return Number(tx.sql.get('pruneSignals').run(limit, until).changes);
}

function pruneEvents(tx: Transaction, before: number, limit: number): { removed: number; done: boolean } {
  const rows = tx.sql.get('pruneEventsLook').all(limit) as unknown as { seq: number; n: number; at: number }[];
  // In the order of commits, not of times: the clock may have been ahead for a while, and an event from the far future
  // must not keep all that follow it.
  const isOld = ({ at }: { readonly at: number }): boolean => at < before || at > tx.now + (tx.now - before);
  const old = rows.slice(0, rows.findLastIndex(isOld) + 1);
  const last = old.at(-1);
  if (last === undefined) return { removed: 0, done: true };
  const rowsGone = Number(tx.sql.get('pruneEvents').run(last.seq).changes);
  const removed = old.slice(0, rowsGone).reduce((sum, { n }) => sum + n, 0);
  return { removed, done: rowsGone < limit };
}

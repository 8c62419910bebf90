export const PRUNE_STATEMENTS = {
  // Members of a tree go with their root.
  pruneWalk: 'SELECT id, ended_at, root, flags, created_at FROM task WHERE id > ? ORDER BY id LIMIT ?',
  // An unfinished task waits or has waited for it, and will read its result.
  pruneNeeded: `SELECT 1 FROM dep d CROSS JOIN task t ON t.id = d.down AND t.state < 4 WHERE d.up = ? LIMIT 1`,
  treeOpen: `SELECT 1 FROM task INDEXED BY task_root WHERE root = ? AND (state < 4 OR ended_at >= ?) LIMIT 1`,
  treeNeeded: `SELECT 1 FROM task m INDEXED BY task_root CROSS JOIN dep d ON d.up = m.id CROSS JOIN task t ON t.id = d.down
    WHERE m.root = ?1 AND t.state < 4 AND t.root IS NOT ?1 AND t.id <> ?1 LIMIT 1`,
  treeRemove: 'UPDATE task SET flags = flags | 512 WHERE id = ? AND state >= 4 AND ended_at < ?',
  treeRest: 'SELECT id FROM task INDEXED BY task_root WHERE root = ? LIMIT ?',
  treeGoing: 'SELECT 1 FROM task WHERE id = ? AND flags & 512 <> 0',
  // Never the newest row: the next id is one more than the largest.
  pruneTask: 'DELETE FROM task WHERE id = ? AND state >= 4 AND ended_at < ? AND id < (SELECT max(id) FROM task)',
  pruneAttempts: 'DELETE FROM attempt WHERE task = ?',
  pruneLog: 'DELETE FROM log WHERE task = ?',
  pruneDeps: 'DELETE FROM dep WHERE down = ?',
  pruneJournal: 'DELETE FROM journal WHERE task = ?',
  pruneAllowances: 'DELETE FROM allowance WHERE task = ?',
  pruneBudgets: 'DELETE FROM budget WHERE root = ?',
  // From the oldest on, because numbers and times grow together.
  pruneSignals: `DELETE FROM signal WHERE id IN (SELECT id FROM (SELECT id, at FROM signal ORDER BY id LIMIT ?) WHERE at < ?)`,
  signalFirst: 'SELECT at FROM signal ORDER BY id LIMIT 1',
  // By the indexes of unfinished tasks, because finished ones are many.
  oldestUnfinished: `SELECT created_at FROM task WHERE id = (SELECT min(id) FROM (
    SELECT min(id) AS id FROM task INDEXED BY task_ready WHERE state = 0
    UNION ALL SELECT min(id) FROM task INDEXED BY task_running WHERE state = 1
    UNION ALL SELECT min(id) FROM task INDEXED BY task_due WHERE state IN (2, 3)))`,
  pruneEventsLook: 'SELECT seq, n, at FROM event ORDER BY seq LIMIT ?',
  // Never the newest row: the next number is read from it.
  pruneEvents: 'DELETE FROM event WHERE seq <= ? AND seq < (SELECT max(seq) FROM event)',
  pruneOps: 'DELETE FROM op WHERE id IN (SELECT id FROM op WHERE until < ? LIMIT ?)',
  pruneUniq: 'DELETE FROM uniq WHERE task = ?',
  pruneResults: 'DELETE FROM kept_result WHERE rowid IN (SELECT rowid FROM kept_result WHERE expires_at <= ? LIMIT ?)',
  pruneTokens: `DELETE FROM entry_token WHERE id IN (SELECT id FROM entry_token
    WHERE coalesce(revoked_at, used_at, expires_at) < ? LIMIT ?)`,
  // A holder stays as long as it has a lease, so that every running task has a worker to show.
  pruneWorkers: `DELETE FROM worker WHERE id IN (SELECT w.id FROM worker w WHERE w.state IN (3, 4) AND w.beat_at < ?
      AND NOT EXISTS (SELECT 1 FROM task INDEXED BY task_running WHERE state = 1 AND holder = w.id) LIMIT ?)`,
  // No worker of the name is kept any more.
  pruneTotals: 'DELETE FROM worker_total WHERE NOT EXISTS (SELECT 1 FROM worker w WHERE w.name = worker_total.name)',
} as const;

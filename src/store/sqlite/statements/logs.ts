/** Fenced like a settle. */
export const LOG_STATEMENTS = {
  logFence: 'SELECT 1 FROM task WHERE id = ? AND attempt = ? AND state = 1',
  logAdd: 'INSERT OR IGNORE INTO log (task, attempt, seq, at, stream, data) VALUES (?, ?, ?, ?, ?, ?)',
  logSize:
    'SELECT count(*) AS entries, coalesce(sum(octet_length(data)), 0) AS bytes FROM log WHERE task = ? AND attempt = ?',
  logRead: `SELECT attempt, seq, at, stream, data FROM log WHERE task = ? AND (attempt, seq) > (?, ?)
    ORDER BY attempt, seq LIMIT ?`,
} as const;

/** `turnLook` is the fence. It holds for everything that the transaction writes after it. */
export const TURN_STATEMENTS = {
  turnLook: `SELECT lane, created_at, holder, started_at, cancel_at, root FROM task
    WHERE id = ? AND attempt = ? AND state = 1`,
  journalAdd: `INSERT OR IGNORE INTO journal (task, key, kind, attempt, began, at, ref, usage, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  journalGet: 'SELECT kind, attempt, ref, value FROM journal WHERE task = ? AND key = ?',
  journalSize: `SELECT count(*) AS entries,
    coalesce(sum(octet_length(key) + coalesce(octet_length(value), 0) + coalesce(octet_length(usage), 0)), 0) AS bytes
    FROM journal WHERE task = ?`,
  journalList: 'SELECT key, kind, attempt, at, value, ref, began, usage FROM journal WHERE task = ?',
  journalForget: 'DELETE FROM journal WHERE task = ? AND key = ?',
} as const;

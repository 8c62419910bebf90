import { HEAD_LENGTH, MOST_WITH_HEAD } from '../../port/turn-store.ts';

/** `turnLook` is the fence. It holds for everything that the transaction writes after it. */
export const TURN_STATEMENTS = {
  turnLook: `SELECT lane, created_at, holder, started_at, flags, cancel_at, root FROM task
    WHERE id = ? AND attempt = ? AND state = 1`,
  journalAdd: `INSERT OR IGNORE INTO journal (task, key, kind, attempt, began, at, ref, usage, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  journalGet: 'SELECT kind, attempt, ref, value FROM journal WHERE task = ? AND key = ?',
  journalSize: `SELECT count(*) AS entries,
    coalesce(sum(octet_length(key) + coalesce(octet_length(value), 0) + coalesce(octet_length(usage), 0)), 0) AS bytes
    FROM journal WHERE task = ?`,
  journalList: 'SELECT key, kind, attempt, at, value, ref, began, usage FROM journal WHERE task = ?',
  journalHeads: `SELECT task, key, kind, attempt, at, ref, began, usage, coalesce(octet_length(value), 0) AS size,
    CASE WHEN octet_length(value) <= ${MOST_WITH_HEAD} THEN substr(value, 1, ${HEAD_LENGTH}) END AS head
    FROM journal WHERE task = ? AND key > ? ORDER BY key LIMIT ?`,
  journalEntry: 'SELECT key, kind, attempt, at, value, ref, began, usage FROM journal WHERE task = ? AND key = ?',
  journalForget: 'DELETE FROM journal WHERE task = ? AND key = ?',
} as const;

/** Results outlive their tasks. A result that is young enough for the caller is not replaced. */
export const RESULT_STATEMENTS = {
  resultFence: 'SELECT created_at FROM task WHERE id = ? AND attempt = ? AND state = 1',
  resultFind: `SELECT task, attempt, born, value, at FROM kept_result WHERE key = ? AND expires_at > ? AND at > ?`,
  resultPut: `INSERT INTO kept_result (key, task, attempt, born, value, at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET task = excluded.task, attempt = excluded.attempt, born = excluded.born,
      value = excluded.value, at = excluded.at, expires_at = max(expires_at, excluded.expires_at)`,
} as const;

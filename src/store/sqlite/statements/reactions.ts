const VIEW = `SELECT r.*, l.n, l.at, l.outcome, l.task, l.about, l.detail FROM reaction r
  LEFT JOIN reaction_line l ON l.name = r.name AND l.n = r.lines`;

/** Statements of triggers that are no schedules. */
export const REACTION_STATEMENTS = {
  // ?6: the cursor of a new one; null leaves it.
  reactionPut: `INSERT INTO reaction (name, kind, body, enabled, revision, cursor, lines, created_at, changed_at)
    VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?6, 0), 0, ?5, ?5)
    ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, body = excluded.body, changed_at = excluded.changed_at,
      revision = max(excluded.revision, reaction.revision + 1), cursor = coalesce(?6, reaction.cursor) RETURNING revision`,
  reactionFind: `${VIEW} WHERE r.name = ?`,
  reactionList: `${VIEW} WHERE r.kind = coalesce(?, r.kind) ORDER BY r.name`,
  reactionDrop: 'DELETE FROM reaction WHERE name = ?',
  reactionLinesDrop: 'DELETE FROM reaction_line WHERE name = ? AND n <= ?',
  reactionKeysDrop: 'DELETE FROM reaction_key WHERE name = ?',
  reactionEnable: `UPDATE reaction SET enabled = ?2, changed_at = ?3, revision = max(?3, revision + 1),
    cursor = iif(?2, ?4, cursor) WHERE name = ?1 AND enabled <> ?2`,
  reactionHold: 'SELECT revision, enabled, cursor FROM reaction WHERE name = ?',
  reactionMove: 'UPDATE reaction SET cursor = ? WHERE name = ?',
  reactionCount: 'UPDATE reaction SET lines = lines + ? WHERE name = ? RETURNING lines',
  reactionLineAdd: 'INSERT INTO reaction_line (name, n, at, outcome, task, about, detail) VALUES (?, ?, ?, ?, ?, ?, ?)',
  reactionNote: 'UPDATE reaction_line SET outcome = ?, detail = ? WHERE name = ? AND n = ?',
  reactionLines: `SELECT n, at, outcome, task, about, detail FROM reaction_line WHERE name = ? AND n < ?
    ORDER BY n DESC LIMIT ?`,
  reactionKeyFind: 'SELECT version, until, n, task, born FROM reaction_key WHERE name = ? AND key = ?',
  reactionKeyPut: `INSERT INTO reaction_key (name, key, version, until, n, task, born, links) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name, key) DO UPDATE SET version = excluded.version, until = excluded.until, n = excluded.n,
      task = excluded.task, born = excluded.born, links = excluded.links`,
  reactionKeyDrop: 'DELETE FROM reaction_key WHERE name = ? AND key = ?',
  reactionKeysExpire: `DELETE FROM reaction_key WHERE (name, key) IN
    (SELECT name, key FROM reaction_key WHERE name = ? AND until <= ? ORDER BY until LIMIT ?)`,
  reactionKeys: `SELECT key, version FROM reaction_key WHERE name = ?1 AND key > ?3 AND key >= ?2 AND substr(key, 1, length(?2)) = ?2
    ORDER BY key LIMIT ?4`,
  reactionLink: 'SELECT max(links) AS links FROM reaction_key WHERE task = ?',
  workerLossAdd: `INSERT INTO worker_loss (worker, name, host, at) SELECT id, name, host, ?2 FROM worker WHERE id = ?1`,
  workerLossDrop: 'DELETE FROM worker_loss WHERE n <= (SELECT max(n) FROM worker_loss) - ?',
  workerLosses: 'SELECT n, worker, name, host, at FROM worker_loss WHERE n > ? ORDER BY n LIMIT ?',
  workerLossEnds: 'SELECT min(n) AS oldest, max(n) AS newest FROM worker_loss',
} as const;

/** With lease time. A ticket from ahead was made before the clock was set back. */
const OVER = '(expires_at <= ?1 OR made_at > ?1 + 5000)';
/** With lease time and the silence after which a worker is gone that told none. */
const THERE = 'w.state IN (0, 1, 2) AND w.beat_at >= ?1 - coalesce(w.stale_ms, max(?2, 2 * coalesce(w.beat_ms, 0)))';
const RUNNING = '(SELECT count(*) FROM task INDEXED BY task_running WHERE state = 1 AND holder = w.id)';
const ENDED = 'coalesce((SELECT x.ended FROM worker_total x WHERE x.name = w.name), 0)';
const MEMBERS = `SELECT w.id AS worker, w.name, w.leaving_at, w.ticket, t.idle_since, t.ended AS seen_ended, ${ENDED} AS ended,
      ${RUNNING} AS running
    FROM worker w INDEXED BY worker_live LEFT JOIN pool_tickets t ON t.id = w.ticket WHERE ${THERE} AND w.pool = ?3`;

export const POOL_STATEMENTS = {
  poolGet: 'SELECT * FROM pools WHERE name = ?',
  poolList: 'SELECT * FROM pools WHERE name > ? ORDER BY name LIMIT ?',
  poolSet: `INSERT INTO pools (name, body, revision, created_at, changed_at, changed_by) VALUES (?1, ?2, ?3, ?4, ?4, ?5)
    ON CONFLICT (name) DO UPDATE SET body = excluded.body, revision = excluded.revision, changed_at = excluded.changed_at,
      changed_by = excluded.changed_by`,
  poolDrop: 'DELETE FROM pools WHERE name = ?',
  poolTicketsDrop: 'DELETE FROM pool_tickets WHERE pool = ?',
  poolDecisionsDrop: 'DELETE FROM pool_decisions WHERE pool = ?',
  poolChanged: 'UPDATE pools SET up_at = coalesce(?, up_at), down_at = coalesce(?, down_at) WHERE name = ?',
  poolMembers: `${MEMBERS} ORDER BY w.id`,
  /** One statement, so that a worker which registers meanwhile is there by itself or by its ticket. Without members one row has none. */
  poolLook: `SELECT * FROM (SELECT count(*) FILTER (WHERE NOT ${OVER}) AS open, count(*) FILTER (WHERE ${OVER}) AS overdue,
      min(iif(${OVER}, NULL, expires_at)) AS next
    FROM pool_tickets WHERE pool = ?3 AND state = 0) LEFT JOIN (${MEMBERS}) ON true`,
  poolCount: `SELECT (SELECT count(*) FROM worker w INDEXED BY worker_live WHERE ${THERE} AND w.pool = ?3)
    + (SELECT count(*) FROM pool_tickets WHERE pool = ?3 AND state = 0) AS there`,
  ticketFailures: `SELECT count(*) AS failures, max(ended_at) AS failed_at FROM pool_tickets
    WHERE pool = ?1 AND state IN (2, 3) AND n > coalesce((SELECT max(n) FROM pool_tickets WHERE pool = ?1 AND state = 1), 0)`,
  ticketAdd: 'INSERT INTO pool_tickets (id, pool, hash, state, at, made_at, expires_at) VALUES (?, ?, ?, 0, ?, ?, ?)',
  ticketsExpire: `UPDATE pool_tickets SET state = 3, ended_at = ?1 WHERE pool = ?2 AND state = 0 AND ${OVER}`,
  ticketHeld: 'SELECT state, expires_at, pool FROM pool_tickets WHERE id = ? AND hash = ?',
  workerBrought: 'SELECT pool FROM worker WHERE incarnation = ? AND ticket = ?',
  ticketUse: 'UPDATE pool_tickets SET state = 1, ended_at = ?, worker = ? WHERE id = ?',
  ticketStarted: 'UPDATE pool_tickets SET started = ? WHERE id = ?',
  ticketFail: 'UPDATE pool_tickets SET state = 2, error = ?, ended_at = ? WHERE id = ? AND state = 0',
  ticketSeen: 'UPDATE pool_tickets SET idle_since = ?, ended = ? WHERE id = ?',
  ticketList: `SELECT n, id, state, at, expires_at, ended_at, started, error, worker FROM pool_tickets WHERE pool = ? AND n < ?
    ORDER BY n DESC LIMIT ?`,
  // Those whose workers are still there stay: they are what a worker was brought by.
  ticketsPrune: `DELETE FROM pool_tickets WHERE n IN (SELECT n FROM pool_tickets t WHERE t.pool = ?1 AND t.state <> 0
      AND NOT EXISTS (SELECT 1 FROM worker w WHERE w.id = t.worker AND w.state IN (0, 1, 2)) ORDER BY n DESC LIMIT -1 OFFSET ?2)`,
  // Of the incarnation, not of its name. The claim itself checks that a worker is enabled.
  workerSend:
    'UPDATE worker SET leaving_at = ?, enabled = 0, revision = revision + 1 WHERE id = ? AND leaving_at IS NULL',
  decisionAdd: `INSERT INTO pool_decisions (pool, n, at, course, body, launched, drained)
    VALUES (?1, coalesce((SELECT max(n) FROM pool_decisions WHERE pool = ?1), 0) + 1, ?2, ?3, ?4, ?5, ?6) RETURNING n`,
  decisionsPrune: 'DELETE FROM pool_decisions WHERE pool = ? AND n <= ?',
  decisionList: `SELECT n, at, course, body, launched, drained FROM pool_decisions WHERE pool = ? AND n < ? ORDER BY n DESC LIMIT ?`,
} as const;

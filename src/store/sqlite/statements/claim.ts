import { GRANT_COLUMNS } from '../../rows/grant-rows.ts';

/**
 * Tasks of a lane are read by `claimRead`. Those of all lanes of a claim are then written together, by `claimRun` where their numbers follow
 * each other and by `claimList` where not.
 */
export const CLAIM_STATEMENTS = {
  claimRead: `SELECT ${GRANT_COLUMNS} FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?`,
  // The sum keeps it from the index of ready tasks, whose entries it removes.
  claimRun: `UPDATE task SET state = 1, attempt = attempt + 1, tries = tries + 1, holder = ?, lease_until = ?, started_at = ?
    WHERE id BETWEEN ? AND ? AND state + 0 = 0`,
  claimList: `UPDATE task SET state = 1, attempt = attempt + 1, tries = tries + 1, holder = ?, lease_until = ?, started_at = ?
    WHERE id IN (SELECT value FROM json_each(?)) AND state + 0 = 0`,
  taskReady: 'SELECT id, prio FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?',
  claimOne: `UPDATE task SET state = 1, attempt = attempt + 1, tries = tries + 1, holder = ?, lease_until = ?, started_at = ?
    WHERE id = ? AND state = 0 RETURNING ${GRANT_COLUMNS}`,
  // Younger tasks are left to a better worker. A task that is ready since a time to come is not: the clock was set back. Only the first tasks are read: a thousand that came a moment ago are all
  // too young.
  claimAged: `SELECT id FROM (SELECT id, coalesce(run_at, created_at) AS since FROM task
      WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?) WHERE since <= ? OR since > ? LIMIT ?`,
  laneHead: `SELECT coalesce(run_at, created_at) AS since FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT 1`,
  heldLike: `SELECT count(*) AS n FROM task t INDEXED BY task_running CROSS JOIN lane l ON l.id = t.lane
    CROSS JOIN lane w ON w.id = ? WHERE t.state = 1 AND t.holder = ? AND l.queue = w.queue AND l.handler = w.handler
      AND l.placement IS w.placement`,
  claimTask: `SELECT t.lane FROM task t JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue
    WHERE t.id = ? AND t.state = 0 AND q.paused = 0`,
  claimAgain: `SELECT ${GRANT_COLUMNS} FROM task WHERE id = ? AND attempt = ? AND state = 1`,
  workerEnabled: 'SELECT enabled, state, revision FROM worker WHERE id = ?',
} as const;

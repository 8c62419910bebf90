import { STATES } from '../../core/task/task.ts';
import { MOST_ERROR, MOST_SCHEMAS } from '../insight-store.ts';
import { COUNTS, DOCUMENT_COLUMNS } from '../rows/document-rows.ts';
import { TOKEN_COLUMNS } from '../rows/token-rows.ts';

/**
 * Every statement that runs against SQLite, by name. Literal state numbers let the partial indexes be used:
 * 0 ready, 1 running, 2 scheduled, 3 waiting, 4 completed, 5 failed, 6 cancelled. Flags (codes.ts): 1 watched, 8 the
 * result lies apart, 16 suspect. `plans.test.ts` pins the plans.
 */

const GRANT = 'id, attempt, tries, max_tries, bounces, lane, spec, prio, flags, created_at, lease_until, payload';

const LANE = `l.id, l.queue, q.name, l.handler, q.paused, l.placement, l.fair_key, l.weight, l.limits, l.slots,
  l.served_by`;

const SLOT = 's.id, s.key, s.cap, s.active, s.tat, s.cost_tat, s.paused_until, d.name, d.body';

/** A document with the state of its task, or of that of the one which it shows. */
const LISTED = `SELECT ${DOCUMENT_COLUMNS}, t.state FROM task_document d LEFT JOIN task_document o ON o.id = d.shows
    LEFT JOIN task t ON t.id = coalesce(o.task, d.task)`;

/** Of a token, at ?1. */
const LIVE = 'revoked_at IS NULL AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)';

const NEW_TASK = '(lane, spec, state, prio, max_tries, flags, created_at, run_at, payload)';
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?, ?)';

/** Of the name of `w`. */
const TOTAL = '(SELECT ended FROM worker_total t WHERE t.name = w.name) AS total';

export const STATEMENTS = {
  dataVersion: 'PRAGMA data_version',
  metaGet: 'SELECT value FROM meta WHERE key = ?',
  metaPut: 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',

  // lanes, specs, queues
  queueFind: 'SELECT id, paused FROM queue WHERE name = ?',
  queueAdd: 'INSERT INTO queue (name) VALUES (?) RETURNING id',
  queuePause: 'UPDATE queue SET paused = ? WHERE id = ?',
  queueNames: 'SELECT id, name FROM queue',
  queueList: `SELECT q.name, q.paused, s.ready, s.running, s.scheduled, s.waiting, s.completed, s.failed, s.cancelled
    FROM queue q LEFT JOIN qstat s ON s.queue = q.id ORDER BY q.name`,
  queueStats: `SELECT s.ready, s.running, s.scheduled, s.waiting, s.completed, s.failed, s.cancelled
    FROM queue q LEFT JOIN qstat s ON s.queue = q.id WHERE q.name = ?`,
  laneFind: `SELECT ${LANE} FROM lane l JOIN queue q ON q.id = l.queue WHERE l.hash = ?`,
  laneAdd: `INSERT INTO lane (queue, handler, hash, used_at, placement, fair_key, weight, limits, slots)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
  laneServed: `UPDATE lane SET served_by = (SELECT name FROM worker WHERE id = ?1)
    WHERE id = ?2 AND served_by IS NOT (SELECT name FROM worker WHERE id = ?1)`,
  laneSlotAdd: 'INSERT INTO lane_slot (lane, slot, weight) VALUES (?, ?, ?)',
  laneById: `SELECT ${LANE} FROM lane l JOIN queue q ON q.id = l.queue WHERE l.id = ?`,
  laneTouch: 'UPDATE lane SET used_at = ? WHERE id = ?',
  laneGet: `SELECT l.queue, q.name AS queueName, l.handler, l.slots, l.placement LIKE '%"affinity"%' AS affine FROM lane l JOIN queue q ON q.id = l.queue WHERE l.id = ?`,
  // CROSS JOIN keeps this order: from the few lanes that are ready, not over all lanes that there ever were.
  laneScan: `WITH RECURSIVE r(lane) AS (
      SELECT (SELECT lane FROM task WHERE state = 0 AND lane > ? ORDER BY lane LIMIT 1)
      UNION ALL
      SELECT (SELECT lane FROM task WHERE state = 0 AND lane > r.lane ORDER BY lane LIMIT 1) FROM r WHERE r.lane IS NOT NULL
      LIMIT ?)
    SELECT lane AS id, 0 - (SELECT prio FROM task WHERE state = 0 AND lane = r.lane ORDER BY prio LIMIT 1) AS priority
    FROM r WHERE lane IS NOT NULL`,
  laneDepth:
    'SELECT count(*) AS n FROM (SELECT 1 FROM task INDEXED BY task_ready WHERE state = 0 AND lane = ? LIMIT ?)',
  // From one priority to the next: the first of each has come first. Of a lane with very many of them the most urgent are looked at.
  laneOldest: `WITH RECURSIVE p(prio) AS (
      SELECT (SELECT prio FROM task WHERE state = 0 AND lane = ?1 ORDER BY prio LIMIT 1)
      UNION ALL
      SELECT (SELECT prio FROM task WHERE state = 0 AND lane = ?1 AND prio > p.prio ORDER BY prio LIMIT 1) FROM p WHERE p.prio IS NOT NULL
      LIMIT 64)
    SELECT min((SELECT coalesce(run_at, created_at) FROM task WHERE state = 0 AND lane = ?1 AND prio = p.prio ORDER BY id LIMIT 1)) AS since
    FROM p WHERE p.prio IS NOT NULL`,
  specFind: 'SELECT id FROM spec WHERE hash = ?',
  specAdd: 'INSERT INTO spec (hash, body, used_at) VALUES (?, ?, ?) RETURNING id',
  specTouch: 'UPDATE spec SET used_at = ? WHERE id = ?',
  specGet: 'SELECT body FROM spec WHERE id = ?',

  // push
  taskAdd: `INSERT INTO task ${NEW_TASK} VALUES ${ROW}`,
  // Several rows a statement: 2.2 instead of 3.3 µs a row.
  taskAdd4: `INSERT INTO task ${NEW_TASK} VALUES ${Array(4).fill(ROW).join(', ')}`,
  taskAdd16: `INSERT INTO task ${NEW_TASK} VALUES ${Array(16).fill(ROW).join(', ')}`,
  // Apart from the insert, so that tasks without a limit to their wait pay nothing for it.
  taskExpiry: 'UPDATE task SET expires_at = ? WHERE id = ?',
  bodyPut: 'INSERT OR REPLACE INTO body (task, part, data) VALUES (?, ?, ?)',
  bodyGet: 'SELECT data FROM body WHERE task = ? AND part = ?',
  bodyDrop: 'DELETE FROM body WHERE task = ?',
  bodyDropPart: 'DELETE FROM body WHERE task = ? AND part = ?',
  uniqFind: 'SELECT task, hash, until FROM uniq WHERE queue = ? AND key = ?',
  uniqPut: `INSERT INTO uniq (queue, key, task, hash, until) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (queue, key) DO UPDATE SET task = excluded.task, hash = excluded.hash, until = excluded.until`,
  uniqOf: 'SELECT key FROM uniq WHERE task = ?',
  uniqGet: 'SELECT u.task FROM uniq u JOIN queue q ON q.id = u.queue WHERE q.name = ? AND u.key = ?',
  opFind: 'SELECT answer FROM op WHERE id = ? AND until > ?',
  opPut: `INSERT INTO op (id, answer, until) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET answer = excluded.answer, until = excluded.until`,

  // claim: one statement wins for large k, two for small k (one lane 60 against 45 k/s, a thousand lanes 26 against 41 k/s)
  claimMany: `UPDATE task SET state = 1, attempt = attempt + 1, tries = tries + 1, holder = ?, lease_until = ?, started_at = ?
    WHERE id IN (SELECT id FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?) RETURNING ${GRANT}`,
  claimLook: 'SELECT id FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?',
  taskReady: 'SELECT id, prio FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?',
  claimOne: `UPDATE task SET state = 1, attempt = attempt + 1, tries = tries + 1, holder = ?, lease_until = ?, started_at = ?
    WHERE id = ? AND state = 0 RETURNING ${GRANT}`,
  // What has been ready for less than that is left to a better worker. Only the first ones are looked at: of a thousand that
  // came a moment ago all are too young.
  claimAged: `SELECT id FROM (SELECT id, coalesce(run_at, created_at) AS since FROM task
      WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT ?) WHERE since <= ? LIMIT ?`,
  laneHead: `SELECT coalesce(run_at, created_at) AS since FROM task WHERE lane = ? AND state = 0 ORDER BY prio, id LIMIT 1`,
  heldLike: `SELECT count(*) AS n FROM task t INDEXED BY task_running CROSS JOIN lane l ON l.id = t.lane
    CROSS JOIN lane w ON w.id = ? WHERE t.state = 1 AND t.holder = ? AND l.queue = w.queue AND l.handler = w.handler
      AND l.placement IS w.placement`,
  claimTask: `SELECT t.lane FROM task t JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue
    WHERE t.id = ? AND t.state = 0 AND q.paused = 0`,
  claimAgain: `SELECT ${GRANT} FROM task WHERE id = ? AND attempt = ? AND state = 1`,
  workerEnabled: 'SELECT enabled, state, revision FROM worker WHERE id = ?',

  // settle, return, renew: each is fenced by (id, attempt, running)
  settleFast: `UPDATE task SET state = ?, reason = ?, result = ?, flags = (flags & ~16) | ?, ended_at = ?, lease_until = NULL
    WHERE id = ? AND attempt = ? AND state = 1 AND flags & 1 = 0`,
  settleSlow: `UPDATE task SET state = ?, reason = ?, result = ?, flags = (flags & ~16) | ?, ended_at = ?, lease_until = NULL
    WHERE id = ? AND attempt = ? AND state = 1 RETURNING flags`,
  taskPlace: 'SELECT lane, created_at FROM task WHERE id = ?',
  taskEnded: 'SELECT state FROM task WHERE id = ? AND attempt = ? AND state >= 4',
  attemptEnded: 'SELECT outcome FROM attempt WHERE task = ? AND attempt = ?',
  returnTask: `UPDATE task SET state = ?, run_at = ?, tries = tries - ?, bounces = ?, flags = flags & ~?,
      holder = NULL, lease_until = NULL WHERE id = ? AND attempt = ? AND state = 1 AND cancel_at IS NULL`,
  returnLook: `SELECT lane, created_at, holder, started_at, bounces, cancel_at FROM task
    WHERE id = ? AND attempt = ? AND state = 1`,
  attemptAdd: `INSERT OR REPLACE INTO attempt (task, attempt, holder, started_at, ended_at, outcome, error)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  attemptList:
    'SELECT attempt, holder, started_at, ended_at, outcome, error FROM attempt WHERE task = ? ORDER BY attempt',
  renew: 'UPDATE task SET lease_until = ? WHERE id = ? AND attempt = ? AND state = 1 RETURNING cancel_at',
  attemptWorker: `SELECT name FROM worker WHERE id = coalesce(
    (SELECT holder FROM attempt WHERE task = ?1 AND attempt = ?2), (SELECT holder FROM task WHERE id = ?1 AND attempt = ?2))`,
  held: 'SELECT id, attempt, holder, created_at FROM task INDEXED BY task_running WHERE state = 1',
  heldBy: `SELECT id, attempt, holder, created_at FROM task INDEXED BY task_running
    WHERE state = 1 AND holder = ?`,
  cancels: `SELECT id, attempt FROM task INDEXED BY task_running
    WHERE holder = ? AND state = 1 AND cancel_at IS NOT NULL ORDER BY id`,

  // logs; fenced like a settle
  logFence: 'SELECT 1 FROM task WHERE id = ? AND attempt = ? AND state = 1',
  logAdd: 'INSERT OR IGNORE INTO log (task, attempt, seq, at, stream, data) VALUES (?, ?, ?, ?, ?, ?)',
  logRead: `SELECT attempt, seq, at, stream, data FROM log WHERE task = ? AND (attempt, seq) > (?, ?)
    ORDER BY attempt, seq LIMIT ?`,

  // reap and stage
  overdue: `SELECT id, attempt, spec, tries, max_tries, cancel_at FROM task INDEXED BY task_running
    WHERE state = 1 AND lease_until < ? LIMIT ?`,
  nextExpiry: 'SELECT min(lease_until) AS at FROM task INDEXED BY task_running WHERE state = 1 AND lease_until >= ?',
  firstExpiry: 'SELECT min(lease_until) AS at FROM task INDEXED BY task_running WHERE state = 1',
  reapLook: `SELECT lane, created_at, holder, started_at, cancel_at, flags FROM task
    WHERE id = ? AND attempt = ? AND state = 1 AND lease_until < ?`,
  reapEnd: `UPDATE task SET state = ?, reason = ?, ended_at = ?, lease_until = NULL, flags = flags & ~16
    WHERE id = ? AND attempt = ? AND state = 1 AND lease_until < ?`,
  reapAgain: `UPDATE task SET state = ?, run_at = ?, holder = NULL, lease_until = NULL, flags = flags | 16
    WHERE id = ? AND attempt = ? AND state = 1 AND lease_until < ?`,
  // What waits without a deadline has no run_at: its place in the index is never looked at.
  stageLook: `SELECT id, lane, state, attempt, created_at FROM task
    WHERE state IN (2, 3) AND run_at <= ? ORDER BY run_at LIMIT ?`,
  // A ready task keeps in run_at since when it is ready, if that is not when it was made.
  stageOne: 'UPDATE task SET state = 0, open = 0 WHERE id = ? AND state IN (2, 3)',
  stageNext: 'SELECT run_at FROM task WHERE state IN (2, 3) AND run_at IS NOT NULL ORDER BY run_at LIMIT 1',
  expireLook: `SELECT id, lane, state, created_at, flags FROM task
    WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
  expireOne: `UPDATE task SET state = 5, reason = 6, ended_at = ?, run_at = NULL, expires_at = NULL
    WHERE id = ? AND state IN (0, 2) AND attempt = 0`,
  expireNext: `SELECT expires_at FROM task
    WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 ORDER BY expires_at LIMIT 1`,

  // parks and signals; a park is fenced like a settle
  parkTask: `UPDATE task SET state = 3, run_at = ?, open = ?, tries = tries - 1, bounces = 0, flags = flags & ~16,
      holder = NULL, lease_until = NULL WHERE id = ? AND attempt = ? AND state = 1 AND cancel_at IS NULL`,
  parkChild: 'SELECT 1 FROM task WHERE id = ? AND state < 4',
  parkWatch: 'UPDATE task SET flags = flags | 1 WHERE id = ? AND flags & 1 = 0',
  parkDep: `INSERT INTO dep (up, down, gen, optional, open, parked) VALUES (?, ?, ?, 1, 1, 1)
    ON CONFLICT (up, down) DO UPDATE SET gen = excluded.gen, open = 1, parked = 1`,
  waitPut: `INSERT OR REPLACE INTO wait (task, gen, turn, key, channel, form, since, deadline, state, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  waitLater: 'SELECT 1 FROM wait WHERE task = ? AND gen = ? AND turn > ?',
  waitTaken: 'SELECT body FROM wait WHERE task = ? AND gen = ? AND key = ? AND state = 1',
  waitGet: `SELECT w.*, t.state = 3 AND t.attempt = w.gen AS waits FROM wait w LEFT JOIN task t ON t.id = w.task
    WHERE w.task = ?`,
  waitList: `SELECT w.*, 1 AS waits FROM wait w CROSS JOIN task t ON t.id = w.task AND t.state = 3 AND t.attempt = w.gen
    WHERE w.state = 0 AND w.form IS NOT NULL ORDER BY w.since, w.task LIMIT ?`,
  waitOldest: 'SELECT task, gen FROM wait WHERE state = 0 AND channel = ? ORDER BY since, task LIMIT 1',
  waitAll: 'SELECT task, gen FROM wait WHERE state = 0 AND channel = ? ORDER BY since, task',
  waitClose: 'UPDATE wait SET state = 1, body = ? WHERE task = ? AND state = 0',
  waitTimeOut: 'UPDATE wait SET state = 2 WHERE task = ? AND state = 0',
  waitDrop: 'DELETE FROM wait WHERE task = ?',
  waitDropOpen: 'DELETE FROM wait WHERE task = ? AND state = 0',
  wake: 'UPDATE task SET state = 0, run_at = ?, open = 0 WHERE id = ? AND attempt = ? AND state = 3 RETURNING lane, created_at',
  signalAdd: 'INSERT INTO signal (channel, body, at) VALUES (?, ?, ?)',
  signalTake: `DELETE FROM signal WHERE id = (SELECT id FROM signal WHERE channel = ? ORDER BY id LIMIT 1) RETURNING body`,

  // turns; the look is the fence, and holds for all that the transaction writes after it
  turnLook: `SELECT lane, created_at, holder, started_at, cancel_at, root FROM task
    WHERE id = ? AND attempt = ? AND state = 1`,
  journalAdd: `INSERT OR IGNORE INTO journal (task, key, kind, attempt, began, at, ref, usage, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  journalGet: 'SELECT kind, attempt, ref, value FROM journal WHERE task = ? AND key = ?',
  journalList: 'SELECT key, kind, attempt, at, value, ref, began, usage FROM journal WHERE task = ?',
  journalForget: 'DELETE FROM journal WHERE task = ? AND key = ?',

  // trees; a member has its root written down, a root only that it has members
  treeMark: 'UPDATE task SET flags = flags | 128 WHERE id = ? AND flags & 128 = 0',
  treeList: `SELECT t.id, t.parent, t.created_at, q.name AS queue, l.handler, t.state, t.reason, t.attempt, t.cancel_at
    FROM task t INDEXED BY task_root CROSS JOIN lane l ON l.id = t.lane CROSS JOIN queue q ON q.id = l.queue
    WHERE t.root = ? AND t.id > ? ORDER BY t.id LIMIT ?`,
  treeCount: `SELECT ${STATES.map((state, i) => `coalesce(sum(state = ${i}), 0) AS ${state}`).join(', ')} FROM (
    SELECT state FROM task INDEXED BY task_root WHERE root = ?1 UNION ALL SELECT state FROM task WHERE id = ?1)`,

  // results that outlive their tasks; one that still counts for who asks is not replaced
  resultFence: 'SELECT created_at FROM task WHERE id = ? AND attempt = ? AND state = 1',
  resultFind: `SELECT task, attempt, born, value, at FROM kept_result WHERE key = ? AND expires_at > ? AND at > ?`,
  resultPut: `INSERT INTO kept_result (key, task, attempt, born, value, at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET task = excluded.task, attempt = excluded.attempt, born = excluded.born,
      value = excluded.value, at = excluded.at, expires_at = max(expires_at, excluded.expires_at)`,

  // cancel and revive
  taskStand:
    'SELECT state, lane, attempt, created_at, holder, started_at, ended_at, flags, result, cancel_at, root FROM task WHERE id = ?',
  cancelIdle: `UPDATE task SET state = 6, reason = ?, ended_at = ?, run_at = NULL, lease_until = NULL, cancel_at = ?,
      flags = flags & ~16 WHERE id = ? AND state IN (0, 2, 3)`,
  cancelAsk: 'UPDATE task SET cancel_at = coalesce(cancel_at, ?) WHERE id = ? AND state = 1',
  revive: `UPDATE task SET state = 0, tries = 0, bounces = 0, reason = 0, run_at = ?, ended_at = NULL, result = NULL,
      cancel_at = NULL, holder = NULL, expires_at = NULL, open = 0, flags = flags & ~24 WHERE id = ? AND state >= 4`,
  reviveWaiting: 'UPDATE task SET state = 3, run_at = NULL, open = ? WHERE id = ? AND state = 0',

  // dependencies; while a task waits for its first start, lease_until keeps when it is due, and expires_at for how long
  // it may wait from then on
  depTask: `INSERT INTO task (id, lane, spec, state, prio, max_tries, flags, open, created_at, run_at, lease_until, expires_at,
      payload, parent, root) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  depStand: 'SELECT state FROM task WHERE id = ?',
  depWatch: 'UPDATE task SET flags = flags | 1 WHERE id = ? AND flags & 1 = 0',
  depAdd: 'INSERT INTO dep (up, down, gen, optional, open, planned) VALUES (?, ?, 0, ?, ?, 1)',
  depOpen: `SELECT d.down, d.gen, d.optional OR d.parked AS optional, t.state, t.attempt, t.open, t.flags, t.lane, t.created_at, t.lease_until
    FROM dep d LEFT JOIN task t ON t.id = d.down WHERE d.up = ? AND d.open = 1 ORDER BY d.down LIMIT ?`,
  depClose: 'UPDATE dep SET open = 0 WHERE up = ? AND down <= ? AND open = 1',
  depLeft: 'SELECT 1 FROM dep WHERE up = ? AND open = 1 LIMIT 1',
  downCount: 'UPDATE task SET open = open - 1 WHERE id = ? AND state = 3',
  downWake: `UPDATE task SET state = ?1, run_at = ?2, open = 0, lease_until = NULL,
      expires_at = CASE WHEN attempt = 0 THEN expires_at + ?2 ELSE expires_at END WHERE id = ?3 AND state = 3`,
  downEnd: `UPDATE task SET state = ?, reason = 5, ended_at = ?, open = 0, run_at = NULL, lease_until = NULL,
      flags = flags & ~16 WHERE id = ? AND state = 3`,
  depReopen: `UPDATE dep SET gen = ?, parked = 0, open = (SELECT state < 4 FROM task WHERE id = dep.up) IS 1
    WHERE down = ? AND planned = 1 RETURNING up, open`,
  depList: `SELECT d.up, d.optional, t.created_at, t.state, t.flags, t.result FROM dep d LEFT JOIN task t ON t.id = d.up
    WHERE d.down = ? ORDER BY d.up`,
  depDependents: 'SELECT up, down, optional FROM dep WHERE up = ? AND planned = 1',
  depForget: 'DELETE FROM dep WHERE down = ? AND planned = 0',
  depNeeds: 'SELECT up, down, optional FROM dep WHERE down = ? AND planned = 1',
  carryAdd: `INSERT INTO dep_carry (up, state) VALUES (?, ?)
    ON CONFLICT (up) DO UPDATE SET state = excluded.state`,
  carryNext: 'SELECT up, state FROM dep_carry ORDER BY up LIMIT 1',
  carryDrop: 'DELETE FROM dep_carry WHERE up = ?',

  // reads
  taskMax: 'SELECT max(id) AS id FROM task',
  taskGet: `SELECT t.*, l.handler AS handler, q.name AS queue FROM task t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue WHERE t.id = ?`,

  // workers
  workerAdd: `INSERT INTO worker (name, incarnation, state, slots, own_tags, beat_at, host, pid, started_at, handlers, queues,
      version, tags, enabled, priority, own_priority, address)
    VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (incarnation) DO UPDATE SET beat_at = excluded.beat_at, address = coalesce(excluded.address, address)
      WHERE worker.name = excluded.name RETURNING id`,
  workerKnown: 'SELECT 1 FROM worker WHERE incarnation = ?',
  workerNames: 'SELECT id, name FROM worker WHERE id IN (SELECT value FROM json_each(?))',
  settingGet: 'SELECT enabled, priority, tags FROM worker_setting WHERE name = ?',
  settingPut: `INSERT INTO worker_setting (name, enabled, priority, tags) VALUES (?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, priority = excluded.priority, tags = excluded.tags`,
  settingDrop: 'DELETE FROM worker_setting WHERE name = ?',
  settingList: 'SELECT name, enabled, priority, tags FROM worker_setting ORDER BY name',
  // A lost one may come back.
  workersNamed: 'SELECT id, own_tags FROM worker WHERE state <> 3 AND name = ?',
  workerChange: `UPDATE worker SET enabled = ?, priority = coalesce(?, own_priority), tags = ?, revision = revision + 1
    WHERE id = ?`,
  workersRevise: 'UPDATE worker SET revision = revision + 1 WHERE state <> 3 AND name = ?',
  // States: 0 starting, 1 online, 2 draining, 3 offline, 4 lost.
  workerBeat: `UPDATE worker SET beat_at = ?, state = coalesce(?, CASE WHEN state IN (0, 4) THEN 1 ELSE state END),
      status = CASE WHEN ? THEN ? ELSE status END, metadata = CASE WHEN ? THEN ? ELSE metadata END WHERE id = ?`,
  /** Of many who say nothing but that they live. */
  workerBeats: `UPDATE worker SET beat_at = ?, state = coalesce(?, CASE WHEN state IN (0, 4) THEN 1 ELSE state END)
    WHERE id IN (SELECT value FROM json_each(?)) RETURNING id, started_at`,
  workerBorn: 'SELECT started_at FROM worker WHERE id = ?',
  totalAdd: `INSERT INTO worker_total (name, ended) SELECT name, ? FROM worker WHERE id = ?
    ON CONFLICT (name) DO UPDATE SET ended = ended + excluded.ended`,
  workerSilent: 'SELECT 1 FROM worker INDEXED BY worker_live WHERE state IN (0, 1, 2) AND beat_at < ? LIMIT 1',
  // Its own word for what it does holds no longer.
  workerReap: `UPDATE worker INDEXED BY worker_live SET state = 4, status = NULL
    WHERE state IN (0, 1, 2) AND beat_at < ? RETURNING id`,
  workerEnable: 'UPDATE worker SET enabled = ? WHERE id = ?',
  workerList: `SELECT w.*, ${TOTAL} FROM worker w ORDER BY w.id`,
  workerIn: `SELECT w.*, ${TOTAL} FROM worker w WHERE w.state = ? ORDER BY w.id`,
  workerFleet: `SELECT w.*, ${TOTAL}, (SELECT count(*) FROM task INDEXED BY task_running WHERE state = 1 AND holder = w.id) AS running
    FROM worker w INDEXED BY worker_live WHERE w.state IN (0, 1, 2) ORDER BY w.id`,

  // tokens
  tokenAdd: `INSERT INTO entry_token (kind, role, name, hash, prefix, made_by, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING RETURNING ${TOKEN_COLUMNS}`,
  tokenFind: `SELECT ${TOKEN_COLUMNS} FROM entry_token WHERE hash = ?2 AND ${LIVE}`,
  tokenNamed: `SELECT 1 FROM entry_token WHERE name = ?2 AND kind IN (SELECT value FROM json_each(?3)) AND ${LIVE} LIMIT 1`,
  tokenUse: `UPDATE entry_token SET used_at = ?1 WHERE hash = ?2 AND kind = 'code' AND ${LIVE}`,
  // All at once: a node with 2,000 connections asks for their tokens twice a second.
  tokenValid: `SELECT id, expires_at FROM entry_token
    WHERE id IN (SELECT value FROM json_each(?)) AND revoked_at IS NULL AND used_at IS NULL`,
  tokenList: `SELECT ${TOKEN_COLUMNS} FROM entry_token ORDER BY id DESC`,
  tokenRevoke: `UPDATE entry_token SET revoked_at = ?1 WHERE id = ?2 AND ${LIVE}`,
  tokenRevokeNamed: `UPDATE entry_token SET revoked_at = ?1 WHERE name = ?2 AND kind IN ('secret', 'code') AND ${LIVE}`,
  tokenRevokeOthers: `UPDATE entry_token SET revoked_at = ?1 WHERE name = ?2 AND kind = ?3 AND id <> ?4 AND ${LIVE}`,
  tokenShortenOthers: `UPDATE entry_token SET expires_at = min(coalesce(expires_at, ?5), ?5)
    WHERE name = ?2 AND kind = ?3 AND id <> ?4 AND ${LIVE}`,

  // limits
  limitFind: 'SELECT id, body, revision, changed_at, changed_by FROM limit_def WHERE name = ?',
  limitPut: `INSERT INTO limit_def (name, body, revision, changed_at, changed_by) VALUES (?, ?, 1, ?, ?)
    ON CONFLICT (name) DO UPDATE SET body = excluded.body, revision = revision + 1, changed_at = excluded.changed_at,
      changed_by = excluded.changed_by RETURNING id, revision`,
  limitChangeAdd: 'INSERT INTO limit_change (def, at, by, body) VALUES (?, ?, ?, ?)',
  limitChanges: `SELECT c.at, c.by, c.body FROM limit_change c JOIN limit_def d ON d.id = c.def WHERE d.name = ?
    ORDER BY c.id DESC LIMIT ?`,
  limitCaps: `UPDATE slot SET cap = CASE WHEN key = '' THEN ? ELSE ? END WHERE def = ?`,
  limitList: `SELECT d.name, d.body, d.revision, d.changed_at, d.changed_by, coalesce(s.active, 0) AS active,
      (SELECT count(*) FROM (SELECT 1 FROM lane_slot ls CROSS JOIN task t ON t.lane = ls.lane AND t.state = 0
        WHERE ls.slot = s.id LIMIT ?)) AS waiting
    FROM limit_def d LEFT JOIN slot s ON s.def = d.id AND s.key = '' WHERE d.body IS NOT NULL ORDER BY d.name`,
  slotAdd: 'INSERT OR IGNORE INTO slot (def, key, cap) VALUES (?, ?, ?)',
  slotFind: 'SELECT id FROM slot WHERE def = ? AND key = ?',
  slotGet: `SELECT ${SLOT} FROM slot s JOIN limit_def d ON d.id = s.def WHERE s.id = ?`,
  slotsOf: `SELECT ${SLOT} FROM slot s JOIN limit_def d ON d.id = s.def WHERE d.name = ? ORDER BY s.key LIMIT ?`,
  slotTake: 'UPDATE slot SET active = ?, tat = ?, cost_tat = ? WHERE id = ?',
  // A counter that had drifted must not keep a task from ending; the auditor finds it.
  slotGive: 'UPDATE slot SET active = max(0, active - ?) WHERE id = ?',
  slotPause: 'UPDATE slot SET paused_until = max(paused_until, ?) WHERE id = ?',
  slotPauseNamed: `UPDATE slot SET paused_until = ? WHERE key = ? AND def = (SELECT id FROM limit_def WHERE name = ?)`,
  // How many wait for a slot, but no more than asked for.
  slotWaiting: `SELECT count(*) AS n FROM (SELECT 1 FROM lane_slot ls CROSS JOIN task t ON t.lane = ls.lane AND t.state = 0
    WHERE ls.slot = ? LIMIT ?)`,
  slotReady: `SELECT t.id FROM lane_slot ls CROSS JOIN task t ON t.lane = ls.lane AND t.state = 0 WHERE ls.slot = ? LIMIT ?`,
  // The first in line of each lane; among a million in one lane nobody looks for the smallest number.
  slotOldest: `SELECT min((SELECT id FROM task WHERE lane = ls.lane AND state = 0 ORDER BY prio, id LIMIT 1)) AS id
    FROM lane_slot ls WHERE ls.slot = ?`,
  slotRunning: `SELECT min(t.id) AS id FROM task t INDEXED BY task_running
    CROSS JOIN lane_slot ls ON ls.lane = t.lane AND ls.slot = ? WHERE t.state = 1 AND t.cancel_at IS NULL`,
  slotHolders: `SELECT t.id AS task, t.created_at AS createdAt, ls.weight, t.holder FROM task t INDEXED BY task_running
    CROSS JOIN lane_slot ls ON ls.lane = t.lane AND ls.slot = ? WHERE t.state = 1 LIMIT ?`,
  slotAudit: `SELECT s.id, d.name, s.key, s.active AS kept, coalesce(c.n, 0) AS counted
    FROM slot s JOIN limit_def d ON d.id = s.def LEFT JOIN (SELECT ls.slot, sum(ls.weight) AS n
      FROM task t INDEXED BY task_running CROSS JOIN lane_slot ls ON ls.lane = t.lane WHERE t.state = 1 GROUP BY ls.slot) c
      ON c.slot = s.id WHERE s.active <> coalesce(c.n, 0)`,

  // duties
  dutyGet: 'SELECT holder, epoch, until, cursor FROM duty WHERE name = ?',
  dutyTake: `INSERT INTO duty (name, holder, epoch, until) VALUES (?, ?, 1, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = duty.epoch + 1, until = excluded.until
    WHERE duty.until < ? RETURNING epoch, cursor`,
  // ?1 holds [name, epoch, ttl] of each; a process renews all of its duties at about the same time
  dutyRenew: `UPDATE duty SET until = ?2 + (j.value ->> 2) FROM json_each(?1) j
    WHERE duty.name = j.value ->> 0 AND duty.epoch = j.value ->> 1 AND duty.until >= ?2 RETURNING duty.name, duty.epoch`,
  dutyRelease: 'UPDATE duty SET until = 0 WHERE name = ? AND epoch = ?',
  dutyHeld: 'SELECT cursor FROM duty WHERE name = ? AND epoch = ?',
  dutyCursor: 'UPDATE duty SET cursor = ? WHERE name = ? AND epoch = ?',
  dutyList: 'SELECT name, holder, epoch, until FROM duty ORDER BY name',

  // nodes; ?1 is the calendar, ?2 lease time
  nodeGet: 'SELECT * FROM cluster_node WHERE id = ?',
  nodeBeat: `INSERT INTO cluster_node AS n (id, incarnation, wish, stand, stand_since, address, version, host, pid, started_at, beat_at)
    VALUES (?3, ?4, ?6, ?7, ?1, ?8, ?9, ?10, ?11, ?1, ?2)
    ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, wish = excluded.wish, stand = excluded.stand,
      stand_since = CASE WHEN n.incarnation = excluded.incarnation AND n.stand = excluded.stand THEN n.stand_since ELSE ?1 END,
      address = excluded.address, version = excluded.version, host = excluded.host, pid = excluded.pid,
      started_at = CASE WHEN n.incarnation = excluded.incarnation THEN n.started_at ELSE ?1 END,
      beat_at = excluded.beat_at, left_at = NULL
    WHERE ?5 OR n.incarnation = excluded.incarnation OR n.left_at IS NOT NULL RETURNING asked`,
  nodeList: 'SELECT * FROM cluster_node ORDER BY id',
  nodeDrop: "DELETE FROM cluster_node WHERE id = ? AND incarnation = ? AND asked = 'auto'",
  nodeLeft: 'UPDATE cluster_node SET left_at = ? WHERE id = ? AND incarnation = ?',
  nodeRole: 'UPDATE cluster_node SET asked = ? WHERE id = ?',
  nodePrune: 'DELETE FROM cluster_node WHERE beat_at < ?',

  // events and statistics
  eventAdd: `INSERT INTO event (seq, n, at, queue, kind, state, ids, attempts, born)
    VALUES ((SELECT seq + n FROM event ORDER BY seq DESC LIMIT 1), ?, ?, ?, ?, ?, ?, ?, ?)`,
  eventRead: `SELECT seq, n, at, queue, kind, state, ids, attempts, born FROM event
    WHERE seq >= coalesce((SELECT seq FROM event WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1), 0)
      AND seq < coalesce((SELECT seq FROM event WHERE seq >= ?1 ORDER BY seq LIMIT 1), ?1) + ?2 ORDER BY seq LIMIT ?2 + 1`,
  statAdd: `INSERT INTO qstat (queue, ready, running, scheduled, waiting, completed, failed, cancelled)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (queue) DO UPDATE SET ready = ready + excluded.ready,
      running = running + excluded.running, scheduled = scheduled + excluded.scheduled,
      waiting = waiting + excluded.waiting, completed = completed + excluded.completed,
      failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled`,
  statGet: 'SELECT ready, running, scheduled, waiting FROM qstat WHERE queue = ?',
  auditReady: `SELECT l.queue, count(*) AS n FROM task t INDEXED BY task_ready JOIN lane l ON l.id = t.lane
    WHERE t.state = 0 GROUP BY l.queue`,
  auditRunning: `SELECT l.queue, count(*) AS n FROM task t INDEXED BY task_running JOIN lane l ON l.id = t.lane
    WHERE t.state = 1 GROUP BY l.queue`,
  auditDue: `SELECT l.queue, t.state, count(*) AS n FROM task t INDEXED BY task_due JOIN lane l ON l.id = t.lane
    WHERE t.state IN (2, 3) GROUP BY l.queue, t.state`,

  // documents
  documentVersion: 'SELECT version, root FROM task_document WHERE id = ?',
  documentAdd: `INSERT INTO task_document (id, root, parent, user_id, shows, body, task, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  documentChange: `UPDATE task_document SET parent = ?, user_id = ?, dropped = ?, body = ?, version = version + 1, updated_at = ?
    WHERE id = ? AND root = ?`,
  documentRemove: 'DELETE FROM task_document WHERE id = ? AND root = ?',
  documentRun: `UPDATE task_document SET task = ?, run = run + 1, version = version + 1, updated_at = ?
    WHERE id = ? AND root = ?`,
  documentGrow: 'UPDATE task_document SET version = ?, updated_at = ? WHERE id = ?',
  documentGet: `${LISTED} WHERE d.id = ?`,
  documentOf: `${LISTED} WHERE d.task = ? ORDER BY d.num LIMIT 1`,
  documentTree: `${LISTED} WHERE d.root = ? ORDER BY d.num`,
  documentList: `${LISTED} WHERE (?1 = 0 OR d.parent IS NULL) AND d.num < ?2 ORDER BY d.num DESC LIMIT ?3`,
  documentListUser: `${LISTED} WHERE d.user_id = ?4 AND (?1 = 0 OR d.parent IS NULL) AND d.num < ?2
    ORDER BY d.num DESC LIMIT ?3`,
  documentCount: `SELECT ${COUNTS} FROM task_document d LEFT JOIN task_document o ON o.id = d.shows
    LEFT JOIN task t ON t.id = coalesce(o.task, d.task)
    WHERE (?1 = 0 OR d.parent IS NULL) AND (?2 IS NULL OR d.user_id = ?2)`,
  // With its task, but for a root that others still hang on; that goes with the last of them.
  pruneDocument: `DELETE FROM task_document AS d WHERE task = ?
    AND (id <> root OR NOT EXISTS (SELECT 1 FROM task_document x WHERE x.root = d.id AND x.id <> d.id)) RETURNING root`,
  pruneDocumentRoot: `DELETE FROM task_document AS d WHERE id = ? AND task IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = d.task)
    AND NOT EXISTS (SELECT 1 FROM task_document x WHERE x.root = d.id AND x.id <> d.id)`,

  // prune
  // Members of a tree go with their root.
  pruneWalk: 'SELECT id, ended_at, root, flags FROM task WHERE id > ? ORDER BY id LIMIT ?',
  // An unfinished task was made to wait for it, or has waited for it, and will ask what became of it.
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
  // From the oldest on: their numbers are in the order of their times.
  pruneSignals: `DELETE FROM signal WHERE id IN (SELECT id FROM (SELECT id, at FROM signal ORDER BY id LIMIT ?) WHERE at < ?)`,
  signalFirst: 'SELECT at FROM signal ORDER BY id LIMIT 1',
  // By the indexes of what is unfinished: finished tasks are many.
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
  // A holder stays as long as its lease does: whoever looks at a running task can say who has it.
  pruneWorkers: `DELETE FROM worker WHERE id IN (SELECT w.id FROM worker w WHERE w.state IN (3, 4) AND w.beat_at < ?
      AND NOT EXISTS (SELECT 1 FROM task INDEXED BY task_running WHERE state = 1 AND holder = w.id) LIMIT ?)`,

  // Nobody of the name is kept any more.
  pruneTotals: 'DELETE FROM worker_total WHERE NOT EXISTS (SELECT 1 FROM worker w WHERE w.name = worker_total.name)',

  // triggers; putting one again keeps its place in an unchanged schedule, so that no slot is lost or fires again
  triggerPut: `INSERT INTO trigger_def (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET lane = excluded.lane, spec = excluded.spec,
      cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed, prio = excluded.prio,
      max_tries = excluded.max_tries, payload = excluded.payload, next_at = CASE
        WHEN trigger_def.cron = excluded.cron AND trigger_def.timezone = excluded.timezone THEN trigger_def.next_at
        ELSE excluded.next_at END RETURNING next_at`,
  triggerRemove: 'DELETE FROM trigger_def WHERE name = ?',
  triggerList: `SELECT t.*, l.handler, q.name AS queue FROM trigger_def t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue ORDER BY t.name`,
  triggerDue: `SELECT t.*, l.handler, q.name AS queue FROM trigger_def t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue WHERE t.next_at <= ? ORDER BY t.next_at LIMIT ?`,
  triggerNext: 'SELECT min(next_at) AS at FROM trigger_def WHERE next_at > ?',
  triggerFirst: 'SELECT min(next_at) AS at FROM trigger_def',
  triggerMove: 'UPDATE trigger_def SET next_at = ? WHERE name = ? AND next_at = ?',

  // what people look at
  taskFirst: 'SELECT min(id) AS id FROM task',
  taskFrom: 'SELECT id, created_at FROM task WHERE id >= ? ORDER BY id LIMIT 1',
  failureList: `SELECT t.id, q.name AS queue, l.handler, t.reason, t.created_at, t.ended_at,
      substr(coalesce(t.result, (SELECT data FROM body WHERE task = t.id AND part = 1)), 1, ${MOST_ERROR}) AS error
    FROM task t CROSS JOIN lane l ON l.id = t.lane CROSS JOIN queue q ON q.id = l.queue
    WHERE t.state = 5 AND t.id < ? ORDER BY t.id DESC LIMIT ?`,
  handlerQueues: `SELECT l.handler, q.name AS queue FROM lane l CROSS JOIN queue q ON q.id = l.queue
    ORDER BY l.id DESC LIMIT ?`,
  viewPut: `INSERT INTO saved_view (name, screen, query, saved_by, saved_at) SELECT ?1, ?2, ?3, ?4, ?5
    WHERE (SELECT count(*) FROM saved_view WHERE name <> ?1) < ?6
    ON CONFLICT (name) DO UPDATE SET screen = excluded.screen, query = excluded.query, saved_by = excluded.saved_by,
      saved_at = excluded.saved_at`,
  viewList: 'SELECT name, screen, query, saved_by, saved_at FROM saved_view ORDER BY name',
  viewDrop: 'DELETE FROM saved_view WHERE name = ?',
  schemaPut: `INSERT INTO handler_schema (handler, schema, told_at) VALUES (?, ?, ?)
    ON CONFLICT (handler) DO UPDATE SET schema = excluded.schema, told_at = excluded.told_at
      WHERE schema <> excluded.schema`,
  schemaTrim: `DELETE FROM handler_schema WHERE handler IN
    (SELECT handler FROM handler_schema ORDER BY told_at DESC, handler LIMIT -1 OFFSET ${MOST_SCHEMAS})`,
  schemaList: 'SELECT handler, schema FROM handler_schema ORDER BY handler',
} as const;

export type StatementName = keyof typeof STATEMENTS;
export type StatementTexts = Readonly<Record<StatementName, string>>;

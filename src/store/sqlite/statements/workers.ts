/** What all workers with the name of `w` have ended. */
const TOTAL = '(SELECT ended FROM worker_total t WHERE t.name = w.name) AS total';

/** With the lease time now, and the silence that makes a worker lost which told none. */
const SILENT = 'state IN (0, 1, 2) AND beat_at < ? - coalesce(stale_ms, max(?, 2 * coalesce(beat_ms, 0)))';

export const WORKER_STATEMENTS = {
  workerAdd: `INSERT INTO worker (name, incarnation, state, slots, own_tags, beat_at, host, pid, started_at, handlers, queues,
      version, tags, enabled, priority, own_priority, address, pool, beat_ms, stale_ms, ticket)
    VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (incarnation) DO UPDATE SET beat_at = excluded.beat_at, address = coalesce(excluded.address, address)
      WHERE worker.name = excluded.name RETURNING id`,
  workerKnown: 'SELECT 1 FROM worker WHERE incarnation = ?',
  workerNames: 'SELECT id, name, host FROM worker WHERE id IN (SELECT value FROM json_each(?))',
  nameGet: `SELECT h.holder, h.process, w.state, w.beat_at,
      EXISTS (SELECT 1 FROM cluster_node n WHERE n.id = h.node AND n.incarnation <> h.process) AS node_ended
    FROM worker_name h CROSS JOIN worker w ON w.incarnation = h.incarnation WHERE h.name = ?`,
  namePut: `INSERT INTO worker_name (name, incarnation, holder, process, node) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, holder = excluded.holder, process = excluded.process,
      node = excluded.node`,
  nameHolders: 'SELECT name, holder, process FROM worker_name WHERE name IN (SELECT value FROM json_each(?))',
  nameLeave: 'DELETE FROM worker_name WHERE name = ? AND holder = ? AND process = ?',
  settingGet: 'SELECT enabled, priority, tags, grants FROM worker_setting WHERE name = ?',
  settingPut: `INSERT INTO worker_setting (name, enabled, priority, tags, grants) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, priority = excluded.priority, tags = excluded.tags,
      grants = excluded.grants`,
  settingDrop: 'DELETE FROM worker_setting WHERE name = ?',
  settingList: 'SELECT name, enabled, priority, tags, grants FROM worker_setting ORDER BY name',
  // A lost worker may come back.
  workersNamed: 'SELECT id, own_tags FROM worker WHERE state <> 3 AND name = ?',
  workerChange: `UPDATE worker SET enabled = ?, priority = coalesce(?, own_priority), tags = ?, revision = revision + 1
    WHERE id = ?`,
  workersRevise: 'UPDATE worker SET revision = revision + 1 WHERE state <> 3 AND name = ?',
  // States: 0 starting, 1 online, 2 draining, 3 offline, 4 lost.
  workerBeat: `UPDATE worker SET beat_at = ?, state = coalesce(?, CASE WHEN state IN (0, 4) THEN 1 ELSE state END),
      status = CASE WHEN ? THEN ? ELSE status END, metadata = CASE WHEN ? THEN ? ELSE metadata END WHERE id = ?`,
  /** For the many beats that change nothing else. */
  workerBeats: `UPDATE worker SET beat_at = ?, state = coalesce(?, CASE WHEN state IN (0, 4) THEN 1 ELSE state END)
    WHERE id IN (SELECT value FROM json_each(?)) RETURNING id, started_at`,
  workerBorn: 'SELECT started_at FROM worker WHERE id = ?',
  totalAdd: `INSERT INTO worker_total (name, ended) SELECT name, ? FROM worker WHERE id = ?
    ON CONFLICT (name) DO UPDATE SET ended = ended + excluded.ended`,
  workerSilent: `SELECT 1 FROM worker INDEXED BY worker_live WHERE ${SILENT} LIMIT 1`,
  // The status that it reported no longer holds. Of a pool another one takes its place: should it come back, it gets no task.
  workerReap: `UPDATE worker INDEXED BY worker_live SET state = 4, status = NULL,
      leaving_at = iif(ticket IS NULL, leaving_at, beat_at), enabled = iif(ticket IS NULL, enabled, 0)
    WHERE ${SILENT} RETURNING id`,
  workerList: `SELECT w.*, ${TOTAL} FROM worker w ORDER BY w.id`,
  workerIn: `SELECT w.*, ${TOTAL} FROM worker w WHERE w.state = ? ORDER BY w.id`,
  workerFleet: `SELECT w.*, ${TOTAL}, (SELECT count(*) FROM task INDEXED BY task_running WHERE state = 1 AND holder = w.id) AS running
    FROM worker w INDEXED BY worker_live WHERE w.state IN (0, 1, 2) ORDER BY w.id`,
  tagAdd: 'INSERT INTO tag (name, at, author) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  tagFind: 'SELECT 1 FROM tag WHERE name = ?',
  tagList: 'SELECT name, at, author AS by FROM tag ORDER BY name',
  tagDrop: 'DELETE FROM tag WHERE name = ?',
} as const;

import { workerKind } from '../../rows/records.ts';
import { type Fragments, few } from './fragments.ts';

/** Statements of workers. */
export function workerStatements({ s, NOW, HELD }: Fragments) {
  /** What all workers with the name of `w` have ended. */
  const total = `(SELECT ended FROM ${s}.worker_total t WHERE t.name = w.name) AS total`;
  return {
    // States: 0 starting, 1 online, 2 draining, 3 offline, 4 lost.
    workerAdd: `INSERT INTO ${s}.worker (name, incarnation, state, slots, own_tags, beat_at, host, pid, started_at, handlers, queues,
        version, tags, enabled, priority, own_priority, address, pool, beat_ms, stale_ms, ticket)
      VALUES ($1, $2, 0, $3, $4, ${NOW}, $5, $6, ${NOW}, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
      ON CONFLICT (incarnation) DO UPDATE SET beat_at = excluded.beat_at, address = coalesce(excluded.address, worker.address)
        WHERE worker.name = excluded.name RETURNING id, started_at, xmax = 0 AS fresh`,
    /** Events of workers; they change no counter. */
    workerTell: `INSERT INTO ${s}.outbox (at, queue, kind, state, n, ids, attempts, born)
      VALUES (${NOW}, 0, $1, 0, cardinality($2::bigint[]), $2, '{0}', $3::bigint[])`,
    workerNames: `SELECT id, name, host FROM ${s}.worker WHERE id = ANY($1::bigint[])`,
    workerBeat: `WITH u AS (UPDATE ${s}.worker w SET beat_at = ${NOW},
        state = coalesce(x.state, CASE WHEN w.state IN (0, 4) THEN 1 ELSE w.state END),
        status = CASE WHEN x.has_status THEN x.status ELSE w.status END,
        metadata = CASE WHEN x.has_metadata THEN x.metadata ELSE w.metadata END
      FROM unnest($1::bigint[], $2::smallint[], $3::boolean[], $4::text[], $5::boolean[], $6::text[], $7::bigint[], $8::boolean[])
        x(id, state, has_status, status, has_metadata, metadata, ended, told)
      WHERE w.id = x.id AND ${few('x.id')} RETURNING w.id, w.name, w.started_at, x.ended, x.told),
      t AS (INSERT INTO ${s}.worker_total AS t (name, ended) SELECT name, sum(ended) FROM u WHERE ended > 0 GROUP BY name ORDER BY name
        ON CONFLICT (name) DO UPDATE SET ended = t.ended + excluded.ended),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, ids, attempts, born)
        SELECT ${NOW}, 0, ${workerKind('beat')}, 0, count(*), array_agg(id), '{0}', array_agg(coalesce(started_at, 0)) FROM u WHERE told
        HAVING count(*) > 0)
      SELECT id FROM u`,
    workerReap: `WITH ${HELD},
      x AS (UPDATE ${s}.worker SET state = 4, status = NULL,
          leaving_at = CASE WHEN ticket IS NULL THEN leaving_at ELSE beat_at END, enabled = enabled AND ticket IS NULL WHERE id = ANY(ARRAY(SELECT id FROM ${s}.worker
          WHERE state IN (0, 1, 2) AND beat_at < ${NOW} - coalesce(stale_ms, greatest($3::bigint, 2 * beat_ms))
            AND EXISTS (SELECT FROM g) FOR UPDATE SKIP LOCKED)) RETURNING id, name, host),
      y AS (INSERT INTO ${s}.worker_loss (worker, name, host, at) SELECT id, name, host, ${NOW} FROM x ORDER BY id)
      SELECT g.cursor, x.id FROM g LEFT JOIN x ON true ORDER BY x.id`,
    workerList: `SELECT w.*, ${total} FROM ${s}.worker w ORDER BY w.id`,
    workerIn: `SELECT w.*, ${total} FROM ${s}.worker w WHERE w.state = $1 ORDER BY w.id`,
    workerFleet: `SELECT w.*, ${total}, (SELECT count(*) FROM ${s}.task WHERE state = 1 AND holder = w.id) AS running, ${NOW} AS now
      FROM ${s}.worker w WHERE w.state IN (0, 1, 2) ORDER BY w.id`,
    nameGet: `SELECT h.holder, h.process, w.state, w.beat_at, ${NOW} AS now,
        EXISTS (SELECT FROM ${s}.cluster_node n WHERE n.id = h.node AND n.incarnation <> h.process) AS node_ended
      FROM ${s}.worker_name h JOIN ${s}.worker w ON w.incarnation = h.incarnation WHERE h.name = $1`,
    namePut: `INSERT INTO ${s}.worker_name (name, incarnation, holder, process, node) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, holder = excluded.holder, process = excluded.process,
        node = excluded.node`,
    nameHolders: `SELECT name, holder, process FROM ${s}.worker_name WHERE name = ANY($1::text[])`,
    nameLeave: `DELETE FROM ${s}.worker_name WHERE name = $1 AND holder = $2 AND process = $3`,
    settingGet: `SELECT enabled, priority, tags, grants FROM ${s}.worker_setting WHERE name = $1`,
    /** Locks the setting until the commit, whether it existed or was dropped a moment ago. */
    settingTake: `INSERT INTO ${s}.worker_setting AS w (name) VALUES ($1)
      ON CONFLICT (name) DO UPDATE SET enabled = w.enabled RETURNING enabled, priority, tags, grants`,
    settingPut: `UPDATE ${s}.worker_setting SET enabled = $2, priority = $3, tags = $4, grants = $5 WHERE name = $1`,
    settingDrop: `DELETE FROM ${s}.worker_setting WHERE name = $1 RETURNING name`,
    settingList: `SELECT name, enabled, priority, tags, grants FROM ${s}.worker_setting ORDER BY name`,
    /** A lost worker may come back. */
    workersNamed: `SELECT id, own_tags FROM ${s}.worker WHERE state <> 3 AND name = $1 ORDER BY id FOR UPDATE`,
    workersRevise: `UPDATE ${s}.worker SET revision = revision + 1 WHERE id = ANY($1::bigint[])`,
    workerChange: `UPDATE ${s}.worker w SET enabled = $2, priority = coalesce($3, own_priority), tags = x.tags, revision = revision + 1
      FROM unnest($1::bigint[], $4::text[]) x(id, tags) WHERE w.id = x.id AND ${few('x.id')}`,
    tagAdd: `INSERT INTO ${s}.tag (name, at, author) VALUES ($1, ${NOW}, $2) ON CONFLICT DO NOTHING RETURNING name`,
    tagFind: `SELECT name FROM ${s}.tag WHERE name = $1`,
    tagList: `SELECT name, at, author AS by FROM ${s}.tag ORDER BY name`,
    tagDrop: `DELETE FROM ${s}.tag WHERE name = $1 RETURNING name`,
  } as const;
}

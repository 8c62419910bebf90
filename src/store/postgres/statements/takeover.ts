import { AT_TIME } from '../../codes.ts';
import { type Fragments, few } from './fragments.ts';

/** Statements of duties that reap, stage and expire tasks. */
export function takeoverStatements({ s, NOW, HELD, tell, where, end, give, gain }: Fragments) {
  const reap = (which: string, again: string, watched: string): string => `WITH ${HELD},
      o AS MATERIALIZED (SELECT t.*, d.delay,
          CASE WHEN t.cancel_at IS NOT NULL THEN 6 WHEN d.ends = 0 AND d.delay > 0 THEN 2 ELSE d.ends END AS ends,
          CASE WHEN t.cancel_at IS NOT NULL THEN 4 ELSE d.why END AS why
        FROM unnest($3::bigint[], $4::bigint[], $5::smallint[], $6::smallint[], $7::bigint[]) d(task, n, ends, why, delay)
        JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n
        WHERE ${few('d.task')} AND t.state + 0 = 1 AND t.lease_until < ${NOW} AND EXISTS (SELECT FROM g)
        ORDER BY t.id FOR UPDATE OF t SKIP LOCKED),
      u AS (UPDATE ${s}.task t SET state = o.ends, run_at = ${NOW} + o.delay, holder = NULL,
          lease_until = NULL, flags = (t.flags | 16) & ~${AT_TIME}
        FROM o WHERE o.ends < 4 ${again} AND t.id = o.id AND t.attempt = o.attempt AND t.state + 0 = 1 RETURNING o.*),
      x AS (DELETE FROM ${s}.task t USING o WHERE o.ends >= 4 ${which} AND t.id = o.id AND t.attempt = o.attempt AND t.state + 0 = 1
        RETURNING o.*),
      r AS MATERIALIZED (SELECT * FROM u UNION ALL SELECT * FROM x),
      h AS (${end('r WHERE ends >= 4', 'ends', 'why', 'flags & ~16', 'NULL')}),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome)
        SELECT id, attempt, holder, started_at, ${NOW}, 2 FROM r
        ON CONFLICT (task, attempt) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome),
      ${give('r')},
      e AS (${tell('r', 7, 'ends', { running: '-count(*)', ...gain('ends') }, 'queue, ends')})
      SELECT g.cursor, r.id, r.lane, r.ends, r.watched, r.metered FROM g LEFT JOIN (${watched}) r ON true`;

  const expire = (which: string): string => `WITH ${HELD},
      c AS MATERIALIZED (SELECT id, flags FROM ${s}.task
        WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 AND expires_at <= ${NOW}
        AND EXISTS (SELECT FROM g) ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED),
      x AS (DELETE FROM ${s}.task WHERE id = ANY(ARRAY(SELECT id FROM c ${which})) RETURNING *),
      h AS (${end('x', '5', '6', 'flags', 'NULL')}),
      e AS (${tell('x', 13, 5, { ready: `-${where('state', 0)}`, scheduled: `-${where('state', 2)}`, failed: 'count(*)' })})
      SELECT g.cursor, c.id, c.flags & 1 = 1 AS watched FROM g LEFT JOIN c ON true`;

  /** How long until the first is due. No row if the caller does not hold the duty. */
  const look = (first: string, besides = ''): string =>
    `SELECT (${first}) - ${NOW} AS next${besides} FROM ${s}.duty WHERE name = $1 AND epoch = $2`;

  return {
    // Each begins with the epoch of the duty, locked until the commit.
    overdue: `SELECT id, attempt, spec, tries, max_tries, cancel_at IS NOT NULL AS cancel, ${NOW} - started_at AS held FROM ${s}.task
      WHERE state = 1 AND lease_until < ${NOW} LIMIT $1`,
    /** Whether a lease has expired, and how long the server has been up. A clock that was set back since its start does not tell. */
    firstExpiry: `SELECT (SELECT min(lease_until) FROM ${s}.task WHERE state = 1) - ${NOW} AS next,
        CASE WHEN now() >= pg_postmaster_start_time()
          THEN floor(date_part('epoch', now() - pg_postmaster_start_time()) * 1000)::bigint END AS up`,
    nextExpiry: `SELECT min(lease_until) - ${NOW} AS next FROM ${s}.task WHERE state = 1 AND lease_until >= ${NOW}`,
    /** Tasks that would end and that something waits for, and metered ones, are only named. */
    reap: reap(
      'AND o.flags & 257 = 0',
      'AND o.flags & 256 = 0',
      `SELECT id, lane, ends, false AS watched, false AS metered FROM r
        UNION ALL SELECT id, lane, ends, true, false FROM o WHERE ends >= 4 AND flags & 1 = 1 OR flags & 256 = 256`,
    ),
    reapWatched: reap(
      '',
      '',
      'SELECT id, lane, ends, ends >= 4 AND flags & 1 = 1 AS watched, flags & 256 = 256 AS metered FROM r',
    ),
    /** Due tasks, and waiting tasks whose deadline has passed. A wait without a deadline has no run_at. */
    stage: `WITH ${HELD},
      o AS MATERIALIZED (SELECT id, state FROM ${s}.task WHERE state IN (2, 3) AND run_at <= ${NOW}
        AND EXISTS (SELECT FROM g) ORDER BY run_at LIMIT $3 FOR UPDATE SKIP LOCKED),
      u AS (UPDATE ${s}.task SET state = 0, open = 0 WHERE id = ANY(ARRAY(SELECT id FROM o))
        RETURNING id, queue, lane, attempt, created_at),
      x AS (SELECT u.*, o.state AS was FROM u JOIN o ON o.id = u.id),
      w AS (UPDATE ${s}.wait SET state = 2 WHERE task = ANY(ARRAY(SELECT id FROM o WHERE state = 3)) AND state = 0),
      e AS (${tell('x', 'CASE WHEN was = 2 THEN 8 ELSE 12 END', 0, { scheduled: `-${where('was', 2)}`, waiting: `-${where('was', 3)}`, ready: 'count(*)' }, 'queue, was')})
      SELECT g.cursor, x.id, x.lane FROM g LEFT JOIN x ON true`,
    /** And what tells whether the server's clock was set back: see verbs/admin/clock-steps.ts. */
    stageLook: look(
      `SELECT run_at FROM ${s}.task WHERE state IN (2, 3) AND run_at IS NOT NULL ORDER BY run_at LIMIT 1`,
      `, ${NOW} AS now, cursor AS moved, pg_current_snapshot()::text AS mark`,
    ),
    stageNext: `SELECT run_at - ${NOW} AS next FROM ${s}.task WHERE state IN (2, 3) AND run_at IS NOT NULL ORDER BY run_at LIMIT 1`,
    /** Tasks that something waits for are only named. */
    expire: expire('WHERE flags & 1 = 0'),
    expireWatched: expire(''),
    expireLook: look(`SELECT expires_at FROM ${s}.task
      WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 ORDER BY expires_at LIMIT 1`),
    expireNext: `SELECT expires_at - ${NOW} AS next FROM ${s}.task
      WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 ORDER BY expires_at LIMIT 1`,
  } as const;
}

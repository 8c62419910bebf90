import { GRANT_COLUMNS } from '../../rows/grant-rows.ts';
import { type Fragments, few } from './fragments.ts';
import { liveToken } from './tokens.ts';

/** Statements that claim tasks. */
export function claimStatements({ s, NOW, count, recent }: Fragments) {
  /** Claims the tasks of `c` for holder $1 and $2 ms. The parameter `note` names the claim. */
  const grant = (
    note: number,
  ): string => `u AS (UPDATE ${s}.task t SET state = 1, attempt = attempt + 1, tries = tries + 1,
          holder = $1, lease_until = ${NOW} + $2, started_at = ${NOW}, expires_at = NULL
        WHERE id = ANY(ARRAY(SELECT id FROM c)) RETURNING ${GRANT_COLUMNS}, queue),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, d_running, ids, attempts, born, note)
        SELECT ${NOW}, queue, 1, 1, count(*), -count(*), count(*), array_agg(id),
          CASE WHEN min(attempt) = max(attempt) THEN ARRAY[min(attempt)] ELSE array_agg(attempt) END, array_agg(created_at),
          $${note} FROM u GROUP BY queue)`;

  /** A counter with only a cap, and room for this many tasks. */
  const open = (tasks: string): string =>
    `(s.plain AND s.paused_until <= ${NOW} AND (s.cap IS NULL OR s.cap - s.active >= ${tasks}))`;

  /** The worker has no secret, or one that is live. */
  const isLetIn = (n: number): string =>
    `($${n}::bigint IS NULL OR EXISTS (SELECT FROM ${s}.entry_token WHERE id = $${n} AND ${liveToken({ NOW })}))`;
  /** The worker is enabled and not draining, and its revision and token are still those of the claim. */
  const mayClaim = (revision: number, token: number): string =>
    `enabled AND state <> 2 AND ($${revision}::int IS NULL OR revision = $${revision}) AND ${isLetIn(token)}`;

  return {
    claim: `WITH w AS MATERIALIZED (SELECT ${mayClaim(9, 10)} AS enabled FROM ${s}.worker WHERE id = $1),
      c AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::smallint[], $7::bigint[]) l(lane, k, mp, mi)
        CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = l.lane AND state = 0 AND (prio, id) >= (l.mp, l.mi)
          ORDER BY prio, id LIMIT l.k FOR UPDATE SKIP LOCKED) t
        WHERE (SELECT enabled FROM w) LIMIT $3),
      ${grant(8)}
      SELECT w.enabled, ${GRANT_COLUMNS} FROM w LEFT JOIN u ON true`,
    /**
     * The same for lanes that take from plain counters, one of each for a task. $11 are the counters, $12 to $15 the
     * places among them of those that each lane takes from. $16 says which counters several lanes share, and $17
     * whether all lanes take from all of them. `room` is read under their locks, also where the snapshot of the
     * statement is older, and `counted` adds to the locked values. If a counter is not plain, or a counter that only
     * some of the lanes share has too little room, nothing is granted.
     */
    claimCapped: `WITH w AS MATERIALIZED (SELECT ${mayClaim(9, 10)} AS enabled FROM ${s}.worker WHERE id = $1),
      s AS MATERIALIZED (SELECT id, plain AND paused_until <= ${NOW} AS plain, coalesce(cap - active, 2147483647) AS room
        FROM ${s}.slot WHERE id = ANY($11::int[]) ORDER BY id FOR UPDATE),
      r AS MATERIALIZED (SELECT array_agg(room ORDER BY id) AS rooms, min(room) FILTER (WHERE shared) AS least,
          bool_and(plain) AND count(*) = cardinality($11) AS plain
        FROM (SELECT *, ($16::boolean[])[row_number() OVER (ORDER BY id)] AS shared FROM s) s),
      f AS MATERIALIZED (SELECT rooms, coalesce(plain AND (least IS NULL OR $17 OR least >= $3), false) AS fits,
          CASE WHEN $17 THEN greatest(0, least) ELSE $3 END AS most FROM r),
      c AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::smallint[], $7::bigint[], $12::int[], $13::int[], $14::int[],
          $15::int[]) l(lane, k, mp, mi, a, b, c, d) CROSS JOIN f
        CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = l.lane AND state = 0 AND (prio, id) >= (l.mp, l.mi)
          ORDER BY prio, id
          LIMIT greatest(0, least(l.k, f.rooms[l.a], f.rooms[l.b], f.rooms[l.c], f.rooms[l.d])) FOR UPDATE SKIP LOCKED) t
        WHERE (SELECT enabled FROM w) AND f.fits LIMIT least($3, (SELECT most FROM f))),
      ${grant(8)},
      ${count('u', 's.active + sums.n')}
      SELECT w.enabled, ${GRANT_COLUMNS}, f.fits, CASE WHEN u.id IS NULL OR u.id = (SELECT min(id) FROM u) THEN f.rooms END
      FROM w CROSS JOIN f LEFT JOIN u ON true`,
    /**
     * The same where the counters $11 have room for several claims like this one. They are locked at the end, in the
     * order of their numbers. A counter that has become too small by then fails the statement by a division by zero. No
     * counter is ever deleted.
     */
    claimAmple: `WITH w AS MATERIALIZED (SELECT ${mayClaim(9, 10)} AS enabled FROM ${s}.worker WHERE id = $1),
      f AS MATERIALIZED (SELECT coalesce(count(*) = cardinality($11::int[]) AND bool_and(${open('$3 * 2')}), false) AS fits
        FROM ${s}.slot s WHERE id = ANY($11::int[])),
      c AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::smallint[], $7::bigint[]) l(lane, k, mp, mi)
        CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = l.lane AND state = 0 AND (prio, id) >= (l.mp, l.mi)
          ORDER BY prio, id LIMIT l.k FOR UPDATE SKIP LOCKED) t
        WHERE (SELECT enabled FROM w) AND (SELECT fits FROM f) LIMIT $3),
      ${grant(8)},
      ${count('u', `s.active + sums.n / CASE WHEN ${open('sums.n')} THEN 1 ELSE 0 END`)}
      SELECT w.enabled, ${GRANT_COLUMNS}, f.fits FROM w CROSS JOIN f LEFT JOIN u ON true`,
    /** Younger tasks are left to a better worker. Only the first tasks of each lane are read. */
    claimAged: `WITH w AS MATERIALIZED (SELECT ${mayClaim(8, 9)} AS enabled FROM ${s}.worker WHERE id = $1),
      a AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::bigint[]) l(lane, k, age)
        CROSS JOIN LATERAL (SELECT id FROM (SELECT id, prio, coalesce(run_at, created_at) AS since FROM ${s}.task
            WHERE lane = l.lane AND state = 0 ORDER BY prio, id LIMIT l.k * 4) y
          WHERE since <= ${NOW} - l.age LIMIT l.k) t
        WHERE (SELECT enabled FROM w) LIMIT $3),
      c AS MATERIALIZED (SELECT id FROM ${s}.task WHERE id = ANY(ARRAY(SELECT id FROM a)) AND state + 0 = 0
        ORDER BY id FOR UPDATE SKIP LOCKED),
      ${grant(7)}
      SELECT w.enabled, ${GRANT_COLUMNS} FROM w LEFT JOIN u ON true`,
    laneHeads: `SELECT l.lane, t.since - ${NOW} AS ahead FROM unnest($1::int[]) l(lane) CROSS JOIN LATERAL (SELECT coalesce(run_at, created_at) AS since
      FROM ${s}.task WHERE lane = l.lane AND state = 0 ORDER BY prio, id LIMIT 1) t`,
    /** How many tasks like those of each lane the holder has. Under the lock of its row no other claim counts for it. */
    heldLike: `WITH w AS MATERIALIZED (SELECT l.* FROM unnest($2::int[]) x(id)
        CROSS JOIN LATERAL (SELECT id, queue, handler, placement FROM ${s}.lane WHERE id = x.id OFFSET 0) l)
      SELECT w.id AS lane, count(*) AS n FROM (SELECT lane FROM ${s}.task WHERE state = 1 AND holder = $1 OFFSET 0) t
      CROSS JOIN LATERAL (SELECT queue, handler, placement FROM ${s}.lane WHERE id = t.lane OFFSET 0) l
      JOIN w ON w.queue = l.queue AND w.handler = l.handler AND w.placement IS NOT DISTINCT FROM l.placement GROUP BY w.id`,
    taskLane: `SELECT lane FROM ${s}.task WHERE id = $1 AND state + 0 = 0`,
    workerLock: `SELECT id FROM ${s}.worker WHERE id = $1 FOR NO KEY UPDATE`,
    claimTask: `WITH w AS MATERIALIZED (SELECT ${mayClaim(5, 6)} AS enabled FROM ${s}.worker WHERE id = $1),
      c AS MATERIALIZED (SELECT t.id FROM ${s}.task t WHERE t.id = $3 AND t.state + 0 = 0 AND (SELECT enabled FROM w)
        AND NOT (SELECT paused FROM ${s}.queue q WHERE q.id = t.queue) FOR UPDATE OF t SKIP LOCKED),
      ${grant(4)}
      SELECT w.enabled, ${GRANT_COLUMNS} FROM w LEFT JOIN u ON true`,
    /** Reads only. */
    taskReady: `SELECT t.id, l.lane, t.prio FROM unnest($1::int[]) l(lane) CROSS JOIN LATERAL (SELECT id, prio FROM ${s}.task
      WHERE lane = l.lane AND state = 0 ORDER BY prio, id LIMIT $2) t`,
    claimAgain: `SELECT ${GRANT_COLUMNS} FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n)
      ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 AND ${few('x.task')} ORDER BY t.prio, t.id`,
    /** What a claim whose answer was lost had granted. */
    claimed: `SELECT ids, attempts FROM ${s}.outbox WHERE note = $1 AND kind = 1
      UNION ALL SELECT ids, attempts FROM ${recent} WHERE note = $1 AND kind = 1`,
    bodies: `SELECT task, data FROM ${s}.body WHERE task = ANY($1::bigint[]) AND part = $2`,
  } as const;
}

import { REMOVING } from '../../codes.ts';
import { type Fragments } from './fragments.ts';

/** Statements that cancel, expire and revive tasks. */
export function endingStatements({ s, NOW, tell, where, end }: Fragments) {
  const cancelIdle = (
    which: string,
  ): string => `WITH x AS (DELETE FROM ${s}.task WHERE id = ANY($1::bigint[]) AND state + 0 <> 1 ${which}
        RETURNING id, created_at, started_at, ${NOW} AS cancel_at, queue, lane, spec, attempt, holder, prio, tries, max_tries,
          bounces, payload, parent, root, flags, state),
      h AS (${end('x', '6', '$2::smallint', 'flags & ~16', 'NULL')}),
      w AS (DELETE FROM ${s}.wait WHERE task = ANY(ARRAY(SELECT id FROM x WHERE state = 3))),
      e AS (${tell('x', 4, 6, { ready: `-${where('state', 0)}`, scheduled: `-${where('state', 2)}`, waiting: `-${where('state', 3)}`, cancelled: 'count(*)' })})
      SELECT id, flags & 1 = 1 FROM x`;

  return {
    cancelIdle: cancelIdle('AND flags & 1 = 0'),
    cancelWatched: cancelIdle(''),
    cancelAsk: `WITH x AS (UPDATE ${s}.task SET cancel_at = ${NOW} WHERE id = ANY($1::bigint[]) AND state + 0 = 1 AND cancel_at IS NULL
        RETURNING id, queue, attempt, created_at),
      e AS (${tell('x', 10, 1)})
      SELECT id FROM x`,
    /**
     * Makes a task ready, or waiting for $2 others. $3 is 1 when others wait for it. The root of a member stays locked
     * until the commit, so that the pruner does not begin to remove its tree. A root that has moved between the two
     * tables is looked for again. $4: it is in neither.
     */
    revive: `WITH r AS MATERIALIZED (SELECT root FROM ${s}.done WHERE id = $1),
      t AS MATERIALIZED (SELECT id FROM ${s}.task WHERE id = (SELECT root FROM r) FOR KEY SHARE),
      d AS MATERIALIZED (SELECT flags FROM ${s}.done WHERE id = (SELECT root FROM r) FOR SHARE),
      x AS (DELETE FROM ${s}.done WHERE id = $1 AND flags & ${REMOVING} = 0
          AND (root IS NULL OR $4 OR EXISTS (SELECT FROM t) OR EXISTS (SELECT FROM d WHERE flags & ${REMOVING} = 0)) RETURNING *),
      i AS (INSERT INTO ${s}.task (id, created_at, started_at, run_at, queue, lane, spec, attempt, state, open, prio, max_tries,
          flags, payload, parent, root)
        SELECT id, created_at, started_at, CASE WHEN $2::int = 0 THEN ${NOW} END, queue, lane, spec, attempt,
          CASE WHEN $2::int = 0 THEN 0 ELSE 3 END, $2::int, prio, max_tries, (flags & ~24) | $3::smallint, payload, parent, root
        FROM x),
      k AS (DELETE FROM ${s}.dep_carry WHERE up = $1 AND EXISTS (SELECT FROM x)),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome, error)
        SELECT id, attempt, holder, started_at, ended_at, state - 1,
          CASE WHEN state <> 4 THEN coalesce(result, (SELECT data FROM ${s}.body WHERE task = x.id AND part = 1)) END
        FROM x WHERE attempt > 0 ON CONFLICT DO NOTHING),
      b AS (DELETE FROM ${s}.body WHERE task = $1 AND part = 1 AND EXISTS (SELECT FROM x)),
      w AS (DELETE FROM ${s}.wait WHERE task = $1 AND state = 0 AND EXISTS (SELECT FROM x)),
      p AS (DELETE FROM ${s}.dep WHERE down = $1 AND NOT planned AND EXISTS (SELECT FROM x)),
      n AS (UPDATE ${s}.run SET cancel_at = NULL, cancel_why = NULL, cancel_by = NULL
        WHERE task = $1 AND cancel_at IS NOT NULL AND EXISTS (SELECT FROM x)),
      e AS (${tell('x', 9, 'CASE WHEN $2::int = 0 THEN 0 ELSE 3 END', { ready: 'CASE WHEN $2::int = 0 THEN count(*) ELSE 0 END', waiting: 'CASE WHEN $2::int = 0 THEN 0 ELSE count(*) END', completed: `-${where('state', 4)}`, failed: `-${where('state', 5)}`, cancelled: `-${where('state', 6)}` })})
      SELECT lane FROM x`,
  } as const;
}

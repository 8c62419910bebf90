import { resultStatements } from './result-statements.ts';

/**
 * Every statement that runs against Postgres, by name; `plans.test.ts` pins the plans. Names are qualified, so that no
 * statement depends on the search path of its connection (a pooler, or a caller's own transaction).
 *
 * States: 0 ready, 1 running, 2 scheduled, 3 waiting, 4 completed, 5 failed, 6 cancelled. Flags: 1 watched, 2 the payload
 * lies apart, 8 the result does, 16 suspect. Kinds of events and reasons are positions in the lists of core/task.ts.
 *
 * `state + 0 = 1` keeps the planner from walking the index of running tasks for a batch of ids (78 instead of 4.8 ms for
 * 500 tasks); `= ANY(ARRAY(…))` keeps it from a hash join over the whole table, and so does `few`. A plan lives as long as
 * its connection, or until the next ANALYZE: what was planned when a table had forty rows runs when it has a million.
 */

/** Always true, but the planner takes it for one row of two hundred: so few that it looks each of them up by its key. */
const few = (key: string, nothing = '+ 0'): string => `${key} ${nothing} = ${key}`;
/** Rows of events, newest first, among which those of a call must be whose answer was lost: far more than its deadline has. */
const RECENT = 1_000_000;

const LANE = `l.id, l.queue AS queue_id, q.name AS queue, l.handler, q.paused, l.placement, l.fair_key, l.weight, l.limits,
  l.uses AS slots, l.served_by`;
const SLOT = 's.id, s.key, s.cap, s.active, s.plain, s.tat, s.cost_tat, s.paused_until, d.name, d.body';
/** It is switched on, not on its way out, and what it was judged by still holds. */
const mayClaim = (n: number): string => `enabled AND state <> 2 AND ($${n}::int IS NULL OR revision = $${n})`;
const GRANT = 'id, attempt, tries, max_tries, bounces, lane, spec, prio, flags, created_at, lease_until, payload';
/** Of `task`; those that a finished row has besides come after. */
const KEPT = `id, created_at, started_at, cancel_at, queue, lane, spec, attempt, holder, prio, tries, max_tries, bounces,
  payload`;

export function statements(schema: string) {
  const s = schema;
  /** Once a statement, not once a row. */
  const NOW = `(SELECT ${s}.now_ms())`;
  const HELD = `g AS MATERIALIZED (SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR SHARE)`;

  /** Events of the rows of `from`, which has queue, id, attempt and created_at; `deltas` is what each state gains. */
  const tell = (
    from: string,
    kind: number | string,
    state: number | string,
    deltas: Readonly<Record<string, string>> = {},
    by = 'queue',
  ): string => {
    const columns = Object.keys(deltas).map((name) => `, d_${name}`);
    const values = Object.values(deltas).map((value) => `, ${value}`);
    return `INSERT INTO ${s}.outbox (at, queue, kind, state, n${columns.join('')}, ids, attempts, born)
      SELECT ${NOW}, queue, ${kind}, ${state}, count(*)${values.join('')}, array_agg(id),
        CASE WHEN min(attempt) = max(attempt) THEN ARRAY[min(attempt)] ELSE array_agg(attempt) END, array_agg(created_at)
      FROM ${from} GROUP BY ${by}`;
  };
  const where = (state: string, code: number): string => `count(*) FILTER (WHERE ${state} = ${code})`;
  const gain = (state: string): Record<string, string> => ({
    ready: where(state, 0),
    scheduled: where(state, 2),
    completed: where(state, 4),
    failed: where(state, 5),
    cancelled: where(state, 6),
  });
  const end = (from: string, state: string, reason: string, flags: string, result: string): string =>
    `INSERT INTO ${s}.done (${KEPT}, state, reason, flags, ended_at, result)
      SELECT ${KEPT}, ${state}, ${reason}, ${flags}, ${NOW}, ${result} FROM ${from}`;

  const def = `CROSS JOIN LATERAL (SELECT name, body FROM ${s}.limit_def WHERE id = s.def OFFSET 0) d`;

  const readyOf = `CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = ls.lane AND state = 0 LIMIT $2) t`;

  /** The tasks of `c` run now, with $1 and for $2; the parameter `note` is the name of the claim. */
  const grant = (
    note: number,
  ): string => `u AS (UPDATE ${s}.task t SET state = 1, attempt = attempt + 1, tries = tries + 1,
          holder = $1, lease_until = ${NOW} + $2, started_at = ${NOW}, expires_at = NULL
        WHERE id = ANY(ARRAY(SELECT id FROM c)) RETURNING ${GRANT}, queue),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, d_running, ids, attempts, born, note)
        SELECT ${NOW}, queue, 1, 1, count(*), -count(*), count(*), array_agg(id),
          CASE WHEN min(attempt) = max(attempt) THEN ARRAY[min(attempt)] ELSE array_agg(attempt) END, array_agg(created_at),
          $${note} FROM u GROUP BY queue)`;

  /**
   * What the tasks of `from` take of their limits changes their slots: several are locked in the order of their numbers, because
   * each is looked up by its key as it comes.
   */
  const count = (
    from: string,
    active: string,
  ): string => `sums AS MATERIALIZED (SELECT ls.slot, sum(ls.weight * y.n) AS n
        FROM (SELECT lane, count(*) AS n FROM ${from} GROUP BY lane) y
        CROSS JOIN LATERAL (SELECT slot, weight FROM ${s}.lane_slot WHERE lane = y.lane OFFSET 0) ls GROUP BY ls.slot ORDER BY 1),
      counted AS (UPDATE ${s}.slot s SET active = ${active} FROM sums WHERE s.id = sums.slot AND ${few('sums.slot')})`;
  /** A counter that had drifted must not keep a task from ending; the auditor finds it. */
  const give = (from: string): string => count(from, 'greatest(0, s.active - sums.n)');

  /** The newest wait of each task: it replaces the one before. */
  const waiting = (
    rows: string,
  ): string => `INSERT INTO ${s}.wait (task, gen, key, channel, form, since, deadline, state, body)
      ${rows} ORDER BY 1 ON CONFLICT (task) DO UPDATE SET gen = excluded.gen, key = excluded.key, channel = excluded.channel,
        form = excluded.form, since = excluded.since, deadline = excluded.deadline, state = excluded.state, body = excluded.body`;

  const recent = `(SELECT * FROM ${s}.event ORDER BY seq DESC LIMIT ${RECENT}) e`;
  const newTasks = `unnest($3::int[], $4::int[], $5::int[], $6::smallint[], $7::smallint[], $8::text[])
    x(queue, lane, spec, prio, max_tries, payload)`;

  /** Ends of all kinds; tasks that something waits for are told apart by `which`. */
  const settle = (
    which: string,
    columns: string,
  ): string => `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::text[], $6::boolean[])
        d(task, n, ends, reason, result, apart) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 ${which}
        RETURNING t.*, d.ends, d.reason, d.result, d.apart),
      h AS (${end('x', 'ends', 'reason', '(flags & ~16) | CASE WHEN apart THEN 8 ELSE 0 END', 'CASE WHEN NOT apart THEN result END')}),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 1, result FROM x WHERE apart
        ON CONFLICT (task, part) DO UPDATE SET data = excluded.data),
      ${give('x')},
      e AS (${tell('x', 'ends - 2', 'ends', { running: '-count(*)', completed: where('ends', 4), failed: where('ends', 5), cancelled: where('ends', 6) }, 'queue, ends')})
      SELECT ${columns} FROM x`;

  const reap = (which: string, watched: string): string => `WITH ${HELD},
      o AS MATERIALIZED (SELECT t.*, d.delay,
          CASE WHEN t.cancel_at IS NOT NULL THEN 6 WHEN d.ends = 0 AND d.delay > 0 THEN 2 ELSE d.ends END AS ends,
          CASE WHEN t.cancel_at IS NOT NULL THEN 4 ELSE d.why END AS why
        FROM unnest($3::bigint[], $4::bigint[], $5::smallint[], $6::smallint[], $7::bigint[]) d(task, n, ends, why, delay)
        JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n
        WHERE ${few('d.task')} AND t.state + 0 = 1 AND t.lease_until < ${NOW} AND EXISTS (SELECT FROM g)
        ORDER BY t.id FOR UPDATE OF t SKIP LOCKED),
      u AS (UPDATE ${s}.task t SET state = o.ends, run_at = ${NOW} + o.delay, holder = NULL,
          lease_until = NULL, flags = t.flags | 16
        FROM o WHERE o.ends < 4 AND t.id = o.id AND t.attempt = o.attempt AND t.state + 0 = 1 RETURNING o.*),
      x AS (DELETE FROM ${s}.task t USING o WHERE o.ends >= 4 ${which} AND t.id = o.id AND t.attempt = o.attempt AND t.state + 0 = 1
        RETURNING o.*),
      r AS MATERIALIZED (SELECT * FROM u UNION ALL SELECT * FROM x),
      h AS (${end('r WHERE ends >= 4', 'ends', 'why', 'flags & ~16', 'NULL')}),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome)
        SELECT id, attempt, holder, started_at, ${NOW}, 2 FROM r
        ON CONFLICT (task, attempt) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome),
      ${give('r')},
      e AS (${tell('r', 7, 'ends', { running: '-count(*)', ...gain('ends') }, 'queue, ends')})
      SELECT g.cursor, r.id, r.lane, r.ends, r.watched FROM g LEFT JOIN (${watched}) r ON true`;

  const expire = (which: string): string => `WITH ${HELD},
      c AS MATERIALIZED (SELECT id, flags FROM ${s}.task
        WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 AND expires_at <= ${NOW}
        AND EXISTS (SELECT FROM g) ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED),
      x AS (DELETE FROM ${s}.task WHERE id = ANY(ARRAY(SELECT id FROM c ${which})) RETURNING *),
      h AS (${end('x', '5', '6', 'flags', 'NULL')}),
      e AS (${tell('x', 13, 5, { ready: `-${where('state', 0)}`, scheduled: `-${where('state', 2)}`, failed: 'count(*)' })})
      SELECT g.cursor, c.id, c.flags & 1 = 1 AS watched FROM g LEFT JOIN c ON true`;

  const cancelIdle = (
    which: string,
  ): string => `WITH x AS (DELETE FROM ${s}.task WHERE id = ANY($1::bigint[]) AND state + 0 <> 1 ${which}
        RETURNING id, created_at, started_at, ${NOW} AS cancel_at, queue, lane, spec, attempt, holder, prio, tries, max_tries,
          bounces, payload, flags, state),
      h AS (${end('x', '6', '$2::smallint', 'flags & ~16', 'NULL')}),
      w AS (DELETE FROM ${s}.wait WHERE task = ANY(ARRAY(SELECT id FROM x WHERE state = 3))),
      e AS (${tell('x', 4, 6, { ready: `-${where('state', 0)}`, scheduled: `-${where('state', 2)}`, waiting: `-${where('state', 3)}`, cancelled: 'count(*)' })})
      SELECT id, flags & 1 = 1 FROM x`;

  return {
    // meta, lanes, specs, queues
    now: `SELECT ${s}.now_ms() AS now`,
    queueAdd: `INSERT INTO ${s}.queue (name) SELECT DISTINCT name FROM unnest($1::text[]) x(name)
      WHERE NOT EXISTS (SELECT FROM ${s}.queue q WHERE q.name = x.name) ORDER BY name ON CONFLICT (name) DO NOTHING`,
    queuePause: `INSERT INTO ${s}.queue (name, paused) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`,
    queueNames: `SELECT id, name FROM ${s}.queue`,
    laneAdd: `INSERT INTO ${s}.lane (queue, handler, hash, used_at, placement, fair_key, weight, limits, uses)
      SELECT q.id, x.handler, x.hash, ${NOW}, x.placement, x.fair_key, x.weight, x.limits, x.uses
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[])
        x(queue, handler, hash, placement, fair_key, weight, limits, uses)
      JOIN ${s}.queue q ON q.name = x.queue
      WHERE NOT EXISTS (SELECT FROM ${s}.lane l WHERE l.hash = x.hash) ORDER BY x.hash ON CONFLICT (hash) DO NOTHING`,
    laneFind: `SELECT ${LANE}, l.hash
      FROM ${s}.lane l JOIN ${s}.queue q ON q.id = l.queue WHERE l.hash = ANY($1::text[])`,
    laneGet: `SELECT ${LANE}
      FROM ${s}.lane l JOIN ${s}.queue q ON q.id = l.queue WHERE l.id = ANY($1::int[])`,
    // From one ready lane to the next, not over all lanes that there ever were.
    laneScan: `WITH RECURSIVE r(lane, prio, k) AS (
        (SELECT lane, prio, 1 FROM ${s}.task WHERE state = 0 AND lane > $1 ORDER BY lane, prio, id LIMIT 1)
        UNION ALL
        SELECT t.lane, t.prio, r.k + 1 FROM r CROSS JOIN LATERAL (SELECT lane, prio FROM ${s}.task
          WHERE state = 0 AND lane > r.lane ORDER BY lane, prio, id LIMIT 1) t WHERE r.k < $2)
      SELECT lane, prio FROM r ORDER BY lane`,
    laneServed: `UPDATE ${s}.lane l SET served_by = w.name FROM ${s}.worker w
      WHERE w.id = $1 AND l.id = ANY($2::int[]) AND l.served_by IS DISTINCT FROM w.name`,
    laneSlotAdd: `INSERT INTO ${s}.lane_slot (lane, slot, weight)
      SELECT lane, slot, weight FROM unnest($1::int[], $2::int[], $3::int[]) x(lane, slot, weight) ORDER BY lane, slot
      ON CONFLICT DO NOTHING`,
    specAdd: `INSERT INTO ${s}.spec (hash, body, used_at)
      SELECT x.hash, x.body, ${NOW} FROM unnest($1::text[], $2::text[]) x(hash, body)
      WHERE NOT EXISTS (SELECT FROM ${s}.spec p WHERE p.hash = x.hash) ORDER BY x.hash ON CONFLICT (hash) DO NOTHING`,
    specFind: `SELECT id, hash FROM ${s}.spec WHERE hash = ANY($1::text[])`,
    specGet: `SELECT body FROM ${s}.spec WHERE id = $1`,

    // push: of two sendings of one flush the second is refused its flight row, and with it everything
    /** The push of a single caller: 0.22 ms where the general form takes 0.27 and a bare INSERT 0.15. */
    pushOne: `WITH f AS (INSERT INTO ${s}.flight (store, n, at) VALUES ($1, $2, ${NOW})),
      i AS (INSERT INTO ${s}.task (created_at, queue, lane, spec, state, prio, max_tries, payload)
        VALUES (${NOW}, $3, $4, $5, 0, $6, $7, $8) RETURNING id, created_at),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, ids, attempts, born, note)
        SELECT created_at, $3, 0, 0, 1, 1, ARRAY[id], '{0}', ARRAY[created_at], $9 FROM i)
      SELECT id, created_at FROM i`,
    /** All alike but for their payloads, as most flushes are: each array more costs the server a microsecond a task. */
    pushAlike: `WITH f AS (INSERT INTO ${s}.flight (store, n, at) VALUES ($1, $2, ${NOW})),
      i AS (INSERT INTO ${s}.task (created_at, queue, lane, spec, state, prio, max_tries, payload)
        SELECT ${NOW}, $3, $4, $5, 0, $6, $7, payload FROM unnest($8::text[]) x(payload) RETURNING id, created_at),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, ids, attempts, born, note)
        SELECT ${NOW}, $3, 0, 0, count(*), count(*), array_agg(id), '{0}', ARRAY[min(created_at)], $9 FROM i)
      SELECT array_agg(id) AS ids, min(created_at) AS created_at FROM i`,
    push: `WITH f AS (INSERT INTO ${s}.flight (store, n, at) VALUES ($1, $2, ${NOW})),
      i AS (INSERT INTO ${s}.task (created_at, queue, lane, spec, state, prio, max_tries, payload)
        SELECT ${NOW}, queue, lane, spec, 0, prio, max_tries, payload FROM ${newTasks}
        RETURNING id, created_at, queue),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, ids, attempts, born, note)
        SELECT ${NOW}, queue, 0, 0, count(*), count(*), array_agg(id), '{0}', ARRAY[min(created_at)], $9
        FROM i GROUP BY queue)
      SELECT id, created_at FROM i`,
    /** With times, limits to the wait and texts that lie apart; the ids are drawn first, or were before. */
    pushFull: `WITH f AS (INSERT INTO ${s}.flight (store, n, at) VALUES ($1, $2, ${NOW})),
      x AS MATERIALIZED (SELECT coalesce(id, nextval('${s}.task_id_seq')) AS id, queue, lane, spec, prio,
          max_tries, payload, apart, wait, o, CASE WHEN due > ${NOW} THEN due END AS run_at
        FROM (SELECT x.*, coalesce(x.run_at, ${NOW} + x.delay) AS due
          FROM unnest($3::int[], $4::int[], $5::int[], $6::smallint[], $7::smallint[], $8::text[], $9::bigint[], $10::bigint[],
            $11::bigint[], $12::boolean[], $13::bigint[])
            WITH ORDINALITY x(queue, lane, spec, prio, max_tries, payload, run_at, delay, wait, apart, id, o)
          ORDER BY o) x),
      i AS (INSERT INTO ${s}.task (id, created_at, queue, lane, spec, state, prio, max_tries, flags, run_at, expires_at, payload)
        SELECT id, ${NOW}, queue, lane, spec, CASE WHEN run_at IS NULL THEN 0 ELSE 2 END, prio, max_tries,
          CASE WHEN apart THEN 2 ELSE 0 END, run_at, coalesce(run_at, ${NOW}) + wait, CASE WHEN NOT apart THEN payload END
        FROM x ORDER BY o),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 0, payload FROM x WHERE apart
        UNION ALL SELECT x.id, 2, k.key FROM unnest($15::bigint[], $16::text[]) k(o, key) JOIN x ON x.o = k.o),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, d_scheduled, ids, attempts, born, note)
        SELECT ${NOW}, queue, 0, CASE WHEN run_at IS NULL THEN 0 ELSE 2 END, count(*), count(*) FILTER (WHERE run_at IS NULL),
          count(*) FILTER (WHERE run_at IS NOT NULL), array_agg(id ORDER BY o), '{0}', ARRAY[min(${NOW})], $14
        FROM x GROUP BY queue, run_at IS NULL)
      SELECT id, ${NOW} AS created_at, run_at FROM x ORDER BY o`,
    /** What a flush had inserted whose answer was lost. */
    pushed: `SELECT ids, at, state FROM ${s}.outbox WHERE note = $1 AND kind = 0
      UNION ALL SELECT ids, at, state FROM ${recent} WHERE note = $1 AND kind = 0 AND seq > 0`,
    flightsOver: `DELETE FROM ${s}.flight WHERE store = $1 AND n < $2`,
    taskIds: `SELECT nextval('${s}.task_id_seq') AS id FROM generate_series(1, $1)`,
    /** Owns the operation ids that nobody else does, or whose time is over. */
    opTake: `INSERT INTO ${s}.op (id, answer, until)
      SELECT id, '', ${NOW} + $2 FROM unnest($1::text[]) x(id) ORDER BY id
      ON CONFLICT (id) DO UPDATE SET answer = '', until = excluded.until WHERE op.until <= ${NOW} RETURNING id`,
    opFind: `SELECT id, answer FROM ${s}.op WHERE id = ANY($1::text[]) AND until + 0 > ${NOW}`,
    opAnswer: `UPDATE ${s}.op SET answer = x.answer FROM unnest($1::text[], $2::text[]) x(id, answer)
      WHERE op.id = x.id AND ${few('x.id', "|| ''")}`,
    opPut: `INSERT INTO ${s}.op (id, answer, until) VALUES ($1, $2, ${NOW} + $3)
      ON CONFLICT (id) DO UPDATE SET answer = excluded.answer, until = excluded.until`,
    uniqTake: `INSERT INTO ${s}.uniq (queue, key, task, hash, until)
      SELECT queue, key, task, hash, ${NOW} + window_ms
      FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) x(queue, key, task, hash, window_ms)
      ORDER BY queue, key ON CONFLICT DO NOTHING RETURNING task`,
    /** Who has the key now, and whether it still holds: while its task is unfinished, and for its window. */
    uniqFind: `SELECT u.queue, u.key, u.task, u.hash, t.state, t.created_at,
        t.state IS NOT NULL AND (u.until > ${NOW} OR t.state < 4) AS holds
      FROM unnest($1::int[], $2::text[]) x(queue, key)
      JOIN ${s}.uniq u ON u.queue = x.queue AND u.key = x.key
      LEFT JOIN LATERAL (SELECT state, created_at FROM ${s}.task WHERE id = u.task
        UNION ALL SELECT state, created_at FROM ${s}.done WHERE id = u.task LIMIT 1) t ON true WHERE ${few('x.queue')}`,
    uniqReplace: `UPDATE ${s}.uniq SET task = $4, hash = $5, until = ${NOW} + $6
      WHERE queue = $1 AND key = $2 AND task + 0 = $3 RETURNING task`,
    uniqGet: `SELECT task FROM ${s}.uniq WHERE queue = (SELECT id FROM ${s}.queue WHERE name = $1) AND key = $2`,
    stand: `SELECT id, state, flags, created_at FROM ${s}.task WHERE id = ANY($1::bigint[])
      UNION ALL SELECT id, state, flags, created_at FROM ${s}.done WHERE id = ANY($1::bigint[])`,

    // claim
    claim: `WITH w AS MATERIALIZED (SELECT ${mayClaim(9)} AS enabled FROM ${s}.worker WHERE id = $1),
      c AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::smallint[], $7::bigint[]) l(lane, k, mp, mi)
        CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = l.lane AND state = 0 AND (prio, id) >= (l.mp, l.mi)
          ORDER BY prio, id LIMIT l.k FOR UPDATE SKIP LOCKED) t
        WHERE (SELECT enabled FROM w) LIMIT $3),
      ${grant(8)}
      SELECT w.enabled, ${GRANT} FROM w LEFT JOIN u ON true`,
    /**
     * The same for lanes that take from plain slots, one of each for a task; $10 are the slots, and $11 to $14 the places among
     * them of those that a lane takes from, $15 says which several lanes share, and $16 whether all lanes take from all of them.
     * Under their locks `room` is what they have, also where the snapshot of the statement is older; so is what `counted` adds to.
     * Where a slot is not plain, or one that only some of the lanes share has less room than is asked for, nothing is granted.
     */
    claimCapped: `WITH w AS MATERIALIZED (SELECT ${mayClaim(9)} AS enabled FROM ${s}.worker WHERE id = $1),
      s AS MATERIALIZED (SELECT id, plain AND paused_until <= ${NOW} AS plain, coalesce(cap - active, 2147483647) AS room
        FROM ${s}.slot WHERE id = ANY($10::int[]) ORDER BY id FOR UPDATE),
      r AS MATERIALIZED (SELECT array_agg(room ORDER BY id) AS rooms, min(room) FILTER (WHERE shared) AS least,
          bool_and(plain) AND count(*) = cardinality($10) AS plain
        FROM (SELECT *, ($15::boolean[])[row_number() OVER (ORDER BY id)] AS shared FROM s) s),
      f AS MATERIALIZED (SELECT rooms, coalesce(plain AND (least IS NULL OR $16 OR least >= $3), false) AS fits,
          CASE WHEN $16 THEN greatest(0, least) ELSE $3 END AS most FROM r),
      c AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::smallint[], $7::bigint[], $11::int[], $12::int[], $13::int[],
          $14::int[]) l(lane, k, mp, mi, a, b, c, d) CROSS JOIN f
        CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = l.lane AND state = 0 AND (prio, id) >= (l.mp, l.mi)
          ORDER BY prio, id
          LIMIT greatest(0, least(l.k, f.rooms[l.a], f.rooms[l.b], f.rooms[l.c], f.rooms[l.d])) FOR UPDATE SKIP LOCKED) t
        WHERE (SELECT enabled FROM w) AND f.fits LIMIT least($3, (SELECT most FROM f))),
      ${grant(8)},
      ${count('u', 's.active + sums.n')}
      SELECT w.enabled, ${GRANT}, f.fits, CASE WHEN u.id IS NULL OR u.id = (SELECT min(id) FROM u) THEN f.rooms END
      FROM w CROSS JOIN f LEFT JOIN u ON true`,
    /** What has been ready for less than that is left to a better worker; of each lane only the first ones are looked at. */
    claimAged: `WITH w AS MATERIALIZED (SELECT ${mayClaim(8)} AS enabled FROM ${s}.worker WHERE id = $1),
      a AS MATERIALIZED (SELECT t.id FROM unnest($4::int[], $5::int[], $6::bigint[]) l(lane, k, age)
        CROSS JOIN LATERAL (SELECT id FROM (SELECT id, prio, coalesce(run_at, created_at) AS since FROM ${s}.task
            WHERE lane = l.lane AND state = 0 ORDER BY prio, id LIMIT l.k * 4) y
          WHERE since <= ${NOW} - l.age LIMIT l.k) t
        WHERE (SELECT enabled FROM w) LIMIT $3),
      c AS MATERIALIZED (SELECT id FROM ${s}.task WHERE id = ANY(ARRAY(SELECT id FROM a)) AND state + 0 = 0
        ORDER BY id FOR UPDATE SKIP LOCKED),
      ${grant(7)}
      SELECT w.enabled, ${GRANT} FROM w LEFT JOIN u ON true`,
    laneHeads: `SELECT l.lane, t.since - ${NOW} AS ahead FROM unnest($1::int[]) l(lane) CROSS JOIN LATERAL (SELECT coalesce(run_at, created_at) AS since
      FROM ${s}.task WHERE lane = l.lane AND state = 0 ORDER BY prio, id LIMIT 1) t`,
    /** How many tasks like those of each lane the holder has. Under the lock of its row: nobody else claims for it meanwhile. */
    heldLike: `WITH w AS MATERIALIZED (SELECT l.* FROM unnest($2::int[]) x(id)
        CROSS JOIN LATERAL (SELECT id, queue, handler, placement FROM ${s}.lane WHERE id = x.id OFFSET 0) l)
      SELECT w.id AS lane, count(*) AS n FROM (SELECT lane FROM ${s}.task WHERE state = 1 AND holder = $1 OFFSET 0) t
      CROSS JOIN LATERAL (SELECT queue, handler, placement FROM ${s}.lane WHERE id = t.lane OFFSET 0) l
      JOIN w ON w.queue = l.queue AND w.handler = l.handler AND w.placement IS NOT DISTINCT FROM l.placement GROUP BY w.id`,
    taskLane: `SELECT lane FROM ${s}.task WHERE id = $1 AND state + 0 = 0`,
    workerLock: `SELECT id FROM ${s}.worker WHERE id = $1 FOR NO KEY UPDATE`,
    claimTask: `WITH w AS MATERIALIZED (SELECT enabled AND state <> 2 AS enabled FROM ${s}.worker WHERE id = $1),
      c AS MATERIALIZED (SELECT t.id FROM ${s}.task t WHERE t.id = $3 AND t.state + 0 = 0 AND (SELECT enabled FROM w)
        AND NOT (SELECT paused FROM ${s}.queue q WHERE q.id = t.queue) FOR UPDATE OF t SKIP LOCKED),
      ${grant(4)}
      SELECT w.enabled, ${GRANT} FROM w LEFT JOIN u ON true`,
    claimAgain: `SELECT ${GRANT} FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n)
      ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 AND ${few('x.task')} ORDER BY t.prio, t.id`,
    /** What a claim had granted whose answer was lost. */
    claimed: `SELECT ids, attempts FROM ${s}.outbox WHERE note = $1 AND kind = 1
      UNION ALL SELECT ids, attempts FROM ${recent} WHERE note = $1 AND kind = 1`,
    bodies: `SELECT task, data FROM ${s}.body WHERE task = ANY($1::bigint[]) AND part = $2`,

    // settle, return, renew: each is fenced by (id, attempt, running)
    /** All completed, with results that stay in their rows: most flushes. */
    complete: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) d(task, n, result) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND t.flags & 1 = 0
        RETURNING t.*, d.result),
      h AS (${end('x', '4', '0', 'flags & ~16', 'result')}),
      e AS (${tell('x', 2, 4, { running: '-count(*)', completed: 'count(*)' })} RETURNING n, ids, attempts)
      SELECT n, CASE WHEN n < cardinality($1) THEN ids END, CASE WHEN n < cardinality($1) THEN attempts END FROM e`,
    /** The same where some of the tasks may take from limits. */
    completeLimited: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) d(task, n, result) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND t.flags & 1 = 0
        RETURNING t.*, d.result),
      h AS (${end('x', '4', '0', 'flags & ~16', 'result')}),
      ${give('x')},
      e AS (${tell('x', 2, 4, { running: '-count(*)', completed: 'count(*)' })} RETURNING n, ids, attempts)
      SELECT n, CASE WHEN n < cardinality($1) THEN ids END, CASE WHEN n < cardinality($1) THEN attempts END FROM e`,
    settle: settle('AND t.flags & 1 = 0', 'id, attempt'),
    /** With those that something waits for; in a transaction with the countdown that follows. */
    settleWatched: settle('', 'id, attempt, ends, flags & 1 = 1'),
    /** Of these leases, those that the fast statements have left: something waits for the end of their tasks. */
    watched: `SELECT t.id, t.attempt FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n)
      ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 AND t.flags & 1 = 1 AND ${few('x.task')}`,
    /** How these attempts ended, if they did: 3 and more are final states, as outcomes of attempts are counted. */
    endedAs: `SELECT x.task, x.n, coalesce(a.outcome, h.state - 1) AS outcome FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
      LEFT JOIN ${s}.attempt a ON a.task = x.task AND a.attempt = x.n
      LEFT JOIN LATERAL (SELECT state FROM ${s}.done WHERE id = x.task AND attempt = x.n LIMIT 1) h ON true
      WHERE x.n > 0 AND ${few('x.task')} AND (a.outcome IS NOT NULL OR h.state IS NOT NULL)`,
    return: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::smallint[], $6::smallint[],
        $7::text[]) d(task, n, outcome, delay, refund, bounced, error) WHERE ${few('task')}),
      o AS MATERIALIZED (SELECT t.id, t.holder AS held, d.* FROM d JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n
        WHERE t.state + 0 = 1 AND t.cancel_at IS NULL ORDER BY t.id FOR UPDATE OF t),
      x AS (UPDATE ${s}.task t SET state = CASE WHEN o.delay > 0 THEN 2 ELSE 0 END,
          run_at = ${NOW} + o.delay, tries = t.tries - o.refund,
          bounces = CASE WHEN o.outcome = 0 THEN 0 ELSE t.bounces + o.bounced END,
          flags = CASE WHEN o.outcome = 0 THEN t.flags & ~16 ELSE t.flags END, holder = NULL, lease_until = NULL
        FROM o WHERE t.id = o.id AND t.attempt = o.n AND t.state + 0 = 1
        RETURNING t.id, t.attempt, t.queue, t.lane, t.state, t.created_at, t.started_at, o.held, o.outcome, o.error),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome, error)
        SELECT id, attempt, held, started_at, ${NOW}, outcome, error FROM x
        ON CONFLICT (task, attempt) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome,
          error = excluded.error),
      ${give('x')},
      e AS (${tell('x', 'outcome + 5', 'state', { running: '-count(*)', ready: where('state', 0), scheduled: where('state', 2) }, 'queue, outcome, state')})
      SELECT id, attempt, lane, state FROM x`,
    cancelWanted: `SELECT t.id FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n) ON t.id = x.task AND t.attempt = x.n
      WHERE t.state + 0 = 1 AND t.cancel_at IS NOT NULL AND ${few('x.task')}`,
    renew: `UPDATE ${s}.task t SET lease_until = ${NOW} + d.ttl FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) d(task, n, ttl)
      WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND ${few('d.task')}
      RETURNING t.id, t.lease_until, t.cancel_at IS NOT NULL`,
    cancels: `SELECT id, attempt FROM ${s}.task WHERE holder = $1 AND state = 1 AND cancel_at IS NOT NULL ORDER BY id`,

    // logs; fenced like a settle, and the row is held until the lines are in
    logAdd: `WITH t AS MATERIALIZED (SELECT t.id, x.n FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR NO KEY UPDATE OF t),
      i AS (INSERT INTO ${s}.log (task, attempt, seq, at, stream, data)
        SELECT l.task, l.n, l.seq, l.at, l.stream, l.data
        FROM unnest($3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::smallint[], $8::text[]) l(task, n, seq, at, stream, data)
        JOIN t ON t.id = l.task AND t.n = l.n ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING)
      SELECT id, n FROM t`,
    logRead: `SELECT attempt, seq, at, stream, data FROM ${s}.log WHERE task = $1 AND (attempt, seq) > ($2, $3)
      ORDER BY attempt, seq LIMIT $4`,

    // duties that take tasks over: each begins with its epoch, locked until the commit
    overdue: `SELECT id, attempt, spec, tries, max_tries, cancel_at IS NOT NULL AS cancel FROM ${s}.task
      WHERE state = 1 AND lease_until < ${NOW} LIMIT $1`,
    nextExpiry: `SELECT min(lease_until) - ${NOW} AS next,
        floor(date_part('epoch', now() - pg_postmaster_start_time()) * 1000)::bigint AS up
      FROM ${s}.task WHERE state = 1 AND lease_until >= ${NOW}`,
    /** Those that something waits for and that would end are only named. */
    reap: reap(
      'AND o.flags & 1 = 0',
      `SELECT id, lane, ends, false AS watched FROM r
        UNION ALL SELECT id, lane, ends, true FROM o WHERE ends >= 4 AND flags & 1 = 1`,
    ),
    reapWatched: reap('', 'SELECT id, lane, ends, ends >= 4 AND flags & 1 = 1 AS watched FROM r'),
    /** What is due, and what has waited as long as it wanted to; who waits without a deadline has no run_at. */
    stage: `WITH ${HELD},
      o AS MATERIALIZED (SELECT id, state FROM ${s}.task WHERE state IN (2, 3) AND run_at <= ${NOW}
        AND EXISTS (SELECT FROM g) ORDER BY run_at LIMIT $3 FOR UPDATE SKIP LOCKED),
      u AS (UPDATE ${s}.task SET state = 0, open = 0 WHERE id = ANY(ARRAY(SELECT id FROM o))
        RETURNING id, queue, lane, attempt, created_at),
      x AS (SELECT u.*, o.state AS was FROM u JOIN o ON o.id = u.id),
      w AS (UPDATE ${s}.wait SET state = 2 WHERE task = ANY(ARRAY(SELECT id FROM o WHERE state = 3)) AND state = 0),
      e AS (${tell('x', 'CASE WHEN was = 2 THEN 8 ELSE 12 END', 0, { scheduled: `-${where('was', 2)}`, waiting: `-${where('was', 3)}`, ready: 'count(*)' }, 'queue, was')})
      SELECT g.cursor, x.id, x.lane FROM g LEFT JOIN x ON true`,
    stageNext: `SELECT run_at - ${NOW} AS next FROM ${s}.task WHERE state IN (2, 3) AND run_at IS NOT NULL ORDER BY run_at LIMIT 1`,
    /** Those that something waits for are only named. */
    expire: expire('WHERE flags & 1 = 0'),
    expireWatched: expire(''),
    expireNext: `SELECT expires_at - ${NOW} AS next FROM ${s}.task
      WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 ORDER BY expires_at LIMIT 1`,

    // parks, signals, checkpoints; a park and a checkpoint are fenced like a settle
    latchLock: `SELECT id FROM ${s}.latch WHERE id = ANY($1::smallint[]) ORDER BY id FOR UPDATE`,
    parkLook: `SELECT t.id, w.task IS NOT NULL AS taken, w.body
      FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) x(task, n, key) WHERE ${few('task')}) x
      JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n
      LEFT JOIN ${s}.wait w ON w.task = x.task AND w.gen = x.n AND w.key = x.key AND w.state = 1
      WHERE t.state + 0 = 1 AND t.cancel_at IS NULL ORDER BY t.id FOR UPDATE OF t`,
    parkDep: `INSERT INTO ${s}.dep (up, down, gen, optional, open)
      SELECT up, down, gen, true, true FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) x(up, down, gen) ORDER BY up, down
      ON CONFLICT (up, down) DO UPDATE SET gen = excluded.gen, optional = true, open = true`,
    park: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::int[])
        d(task, n, key, channel, form, timeout, opens) WHERE ${few('task')}),
      o AS MATERIALIZED (SELECT t.id, t.holder AS held, d.* FROM d JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n
        WHERE t.state + 0 = 1 AND t.cancel_at IS NULL ORDER BY t.id FOR UPDATE OF t),
      x AS (UPDATE ${s}.task t SET state = 3, run_at = ${NOW} + o.timeout, open = o.opens, tries = t.tries - 1, bounces = 0,
          flags = t.flags & ~16, holder = NULL, lease_until = NULL
        FROM o WHERE t.id = o.id AND t.attempt = o.n AND t.state + 0 = 1
        RETURNING t.id, t.attempt, t.queue, t.lane, t.created_at, t.started_at, t.run_at, o.held, o.key, o.channel, o.form),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome)
        SELECT id, attempt, held, started_at, ${NOW}, 6 FROM x
        ON CONFLICT (task, attempt) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome),
      w AS (${waiting(`SELECT id, attempt, key, channel, form, ${NOW}, run_at, 0, NULL FROM x`)}),
      ${give('x')},
      e AS (${tell('x', 11, 3, { running: '-count(*)', waiting: 'count(*)' })})
      SELECT id FROM x`,
    waitTaken: waiting(`SELECT task, n, key, channel, form, ${NOW}, NULL, 1, body
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]) x(task, n, key, channel, form, body)`),
    waitGet: `SELECT w.*, coalesce((SELECT t.state + 0 = 3 AND t.attempt = w.gen FROM ${s}.task t WHERE t.id = w.task), false) AS waits
      FROM ${s}.wait w WHERE w.task = $1`,
    waitList: `SELECT w.*, true AS waits FROM ${s}.wait w CROSS JOIN LATERAL (SELECT FROM ${s}.task t
        WHERE t.id = w.task AND t.state + 0 = 3 AND t.attempt = w.gen OFFSET 0) t
      WHERE w.state = 0 AND w.form IS NOT NULL ORDER BY w.since, w.task LIMIT $1`,
    waitOldest: `SELECT x.channel, w.task, w.gen FROM unnest($1::text[], $2::int[]) x(channel, k)
      CROSS JOIN LATERAL (SELECT task, gen, since FROM ${s}.wait WHERE state = 0 AND channel = x.channel
        ORDER BY since, task LIMIT x.k) w ORDER BY x.channel, w.since, w.task`,
    waitClose: `UPDATE ${s}.wait w SET state = 1 FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
      WHERE w.task = x.task AND w.gen = x.n AND w.state = 0 AND ${few('x.task')}`,
    /** Whoever holds the row of a waiting task decides about its wait. */
    wake: `WITH o AS MATERIALIZED (SELECT t.id, d.body
        FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) d(task, n, body) WHERE ${few('task')}) d
        JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n WHERE t.state + 0 = 3 ORDER BY t.id FOR UPDATE OF t),
      x AS (UPDATE ${s}.task SET state = 0, run_at = ${NOW}, open = 0 WHERE id = ANY(ARRAY(SELECT id FROM o))
        RETURNING id, queue, lane, attempt, created_at),
      w AS (UPDATE ${s}.wait w SET state = 1, body = o.body FROM o WHERE w.task = o.id AND w.state = 0 AND ${few('o.id')}),
      e AS (${tell('x', 12, 0, { waiting: '-count(*)', ready: 'count(*)' })})
      SELECT id, lane FROM x`,
    /** The oldest of each channel; one that the pruner takes away meanwhile is stepped over. */
    signalTake: `DELETE FROM ${s}.signal WHERE id = ANY(ARRAY(SELECT g.id FROM unnest($1::text[], $2::int[]) x(channel, k)
        CROSS JOIN LATERAL (SELECT id FROM ${s}.signal WHERE channel = x.channel ORDER BY id LIMIT x.k FOR UPDATE) g))
      RETURNING id, channel, body`,
    signalAdd: `INSERT INTO ${s}.signal (channel, body, at)
      SELECT channel, body, ${NOW} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(channel, body, o) ORDER BY o`,
    checkpointAdd: `WITH t AS MATERIALIZED (SELECT t.id, x.n
        FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR NO KEY UPDATE OF t),
      i AS (INSERT INTO ${s}.checkpoint (task, key, attempt, value, at)
        SELECT c.task, c.key, c.n, c.value, ${NOW}
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) WITH ORDINALITY c(task, n, key, value, o)
        JOIN t ON t.id = c.task AND t.n = c.n ORDER BY c.task, c.key, c.o ON CONFLICT DO NOTHING RETURNING 1)
      SELECT t.id, t.n, (SELECT count(*) FROM i) AS stored FROM t`,
    checkpointFind: `SELECT c.task, c.key, c.attempt, c.value FROM unnest($1::bigint[], $2::text[]) x(task, key)
      JOIN ${s}.checkpoint c ON c.task = x.task AND c.key = x.key WHERE ${few('x.task')}`,
    checkpointList: `SELECT key, attempt, value, at FROM ${s}.checkpoint WHERE task = $1`,
    checkpointForget: `DELETE FROM ${s}.checkpoint c USING unnest($1::bigint[], $2::text[]) x(task, key)
      WHERE c.task = x.task AND c.key = x.key AND ${few('x.task')}`,
    checkpointScan: `SELECT task, key, value FROM ${s}.checkpoint WHERE task = ANY($1::bigint[]) AND key >= $2 AND key < $3`,
    ...resultStatements({ s, now: NOW, few }),

    // cancel and revive
    cancelIdle: cancelIdle('AND flags & 1 = 0'),
    cancelWatched: cancelIdle(''),
    cancelAsk: `WITH x AS (UPDATE ${s}.task SET cancel_at = ${NOW} WHERE id = ANY($1::bigint[]) AND state + 0 = 1 AND cancel_at IS NULL
        RETURNING id, queue, attempt, created_at),
      e AS (${tell('x', 10, 1)})
      SELECT id FROM x`,
    /** Ready, or waiting for so many others; `$3` is 1 when others wait for it. */
    revive: `WITH x AS (DELETE FROM ${s}.done WHERE id = $1 RETURNING *),
      i AS (INSERT INTO ${s}.task (id, created_at, started_at, run_at, queue, lane, spec, attempt, state, open, prio, max_tries,
          flags, payload)
        SELECT id, created_at, started_at, CASE WHEN $2::int = 0 THEN ${NOW} END, queue, lane, spec, attempt,
          CASE WHEN $2::int = 0 THEN 0 ELSE 3 END, $2::int, prio, max_tries, (flags & ~24) | $3::smallint, payload FROM x),
      k AS (DELETE FROM ${s}.dep_carry WHERE up = $1 AND EXISTS (SELECT FROM x)),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome, error)
        SELECT id, attempt, holder, started_at, ended_at, state - 1,
          CASE WHEN state <> 4 THEN coalesce(result, (SELECT data FROM ${s}.body WHERE task = x.id AND part = 1)) END
        FROM x WHERE attempt > 0 ON CONFLICT DO NOTHING),
      b AS (DELETE FROM ${s}.body WHERE task = $1 AND part = 1 AND EXISTS (SELECT FROM x)),
      w AS (DELETE FROM ${s}.wait WHERE task = $1 AND state = 0 AND EXISTS (SELECT FROM x)),
      e AS (${tell('x', 9, 'CASE WHEN $2::int = 0 THEN 0 ELSE 3 END', { ready: 'CASE WHEN $2::int = 0 THEN count(*) ELSE 0 END', waiting: 'CASE WHEN $2::int = 0 THEN 0 ELSE count(*) END', completed: `-${where('state', 4)}`, failed: `-${where('state', 5)}`, cancelled: `-${where('state', 6)}` })})
      SELECT lane FROM x`,

    // dependencies; while a task waits for its first start, lease_until keeps when it is due, and expires_at for how long
    // it may wait from then on
    depLock: `SELECT id FROM ${s}.task WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
    depWatch: `UPDATE ${s}.task SET flags = flags | 1 WHERE id = ANY($1::bigint[]) AND flags & 1 = 0`,
    /** None: an earlier sending has come through. */
    flightAdd: `INSERT INTO ${s}.flight (store, n, at) VALUES ($1, $2, ${NOW}) ON CONFLICT DO NOTHING RETURNING n`,
    graphAdd: `WITH x AS MATERIALIZED (SELECT x.*, CASE WHEN x.open > 0 THEN 3 WHEN x.due > ${NOW} THEN 2 ELSE 0 END AS state,
          CASE WHEN x.due > ${NOW} THEN x.due END AS at
        FROM (SELECT x.*, coalesce(x.run_at, ${NOW} + x.delay) AS due
          FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::smallint[], $7::text[], $8::boolean[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::smallint[], $13::int[])
            x(id, queue, lane, spec, prio, max_tries, payload, apart, run_at, delay, wait, flags, open)) x),
      i AS (INSERT INTO ${s}.task (id, created_at, queue, lane, spec, state, prio, max_tries, flags, open, run_at, lease_until,
          expires_at, payload)
        SELECT id, ${NOW}, queue, lane, spec, state, prio, max_tries, flags | CASE WHEN apart THEN 2 ELSE 0 END, open,
          CASE WHEN open = 0 THEN at END, CASE WHEN open > 0 THEN at END,
          CASE WHEN open > 0 THEN wait ELSE coalesce(at, ${NOW}) + wait END, CASE WHEN NOT apart THEN payload END FROM x),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 0, payload FROM x WHERE apart
        UNION ALL SELECT task, 2, key FROM unnest($15::bigint[], $16::text[]) k(task, key)),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, d_scheduled, d_waiting, ids, attempts, born, note)
        SELECT ${NOW}, queue, 0, state, count(*), ${where('state', 0)}, ${where('state', 2)}, ${where('state', 3)},
          array_agg(id ORDER BY id), '{0}', ARRAY[min(${NOW})], $14 FROM x GROUP BY queue, state)
      SELECT id, ${NOW} AS created_at, state FROM x`,
    depAdd: `INSERT INTO ${s}.dep (up, down, gen, optional, open, planned)
      SELECT up, down, 0, optional, open, true
      FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::boolean[]) x(up, down, optional, open)`,
    /** In a statement of its own, after the one that ended the tasks: only then are all dependents seen. */
    depOpen: `SELECT up, down, gen, optional FROM ${s}.dep WHERE up = ANY($1::bigint[]) AND open LIMIT $2`,
    /** Only those that wait: nobody who holds a slot may wait for a ready or running task. */
    downLock: `SELECT id, attempt, flags FROM ${s}.task WHERE id = ANY($1::bigint[]) AND state + 0 = 3 ORDER BY id FOR UPDATE`,
    /** A range of one pair: of two equals the planner may take either for enough, and each can have thousands of rows. */
    depClose: `UPDATE ${s}.dep d SET open = false FROM unnest($1::bigint[], $2::bigint[]) x(up, down)
      WHERE (d.up, d.down) >= (x.up, x.down) AND (d.up, d.down) <= (x.up, x.down) AND ${few('x.up')}`,
    // The tasks of these two are locked, and wait.
    downCount: `WITH u AS (UPDATE ${s}.task t SET open = greatest(t.open - x.n, 0),
          lease_until = CASE WHEN t.open > x.n THEN t.lease_until END,
          state = CASE WHEN t.open > x.n THEN 3 WHEN t.lease_until > ${NOW} THEN 2 ELSE 0 END,
          run_at = CASE WHEN t.open > x.n THEN t.run_at ELSE greatest(t.lease_until, ${NOW}) END,
          expires_at = CASE WHEN t.open > x.n OR t.attempt > 0 THEN t.expires_at
            ELSE t.expires_at + greatest(t.lease_until, ${NOW}) END
        FROM unnest($1::bigint[], $2::int[]) x(task, n) WHERE t.id = x.task AND ${few('x.task')}
        RETURNING t.id, t.queue, t.lane, t.state, t.attempt, t.created_at),
      e AS (${tell('u WHERE state <> 3', 12, 'state', { waiting: '-count(*)', ready: where('state', 0), scheduled: where('state', 2) }, 'queue, state')})
      SELECT lane FROM u WHERE state = 0`,
    downEnd: `WITH x AS (DELETE FROM ${s}.task t USING unnest($1::bigint[], $2::smallint[]) d(task, ends)
        WHERE t.id = d.task AND ${few('d.task')} RETURNING t.*, d.ends),
      h AS (${end('x', 'ends', '5', 'flags & ~16', 'NULL')}),
      e AS (${tell('x', 'ends - 2', 'ends', { waiting: '-count(*)', failed: where('ends', 5), cancelled: where('ends', 6) }, 'queue, ends')})
      SELECT id, ends, flags & 1 = 1 FROM x`,
    /** What these tasks were made to wait for. */
    depPlans: `SELECT up, down, optional FROM ${s}.dep WHERE down = ANY($1::bigint[]) AND planned`,
    doneLock: `SELECT id, attempt FROM ${s}.done WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE`,
    depReopen: `UPDATE ${s}.dep d SET gen = x.n, open = d.up = ANY($3::bigint[]) FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
      WHERE d.down = x.task AND d.planned AND ${few('x.task')}`,
    depList: `SELECT d.up, d.optional, t.created_at, t.state, coalesce(t.result, CASE WHEN t.flags & 8 <> 0 THEN
          (SELECT data FROM ${s}.body b WHERE b.task = d.up AND b.part = 1) END) AS result
      FROM ${s}.dep d LEFT JOIN LATERAL (SELECT created_at, state, flags, NULL AS result FROM ${s}.task WHERE id = d.up
        UNION ALL SELECT created_at, state, flags, result FROM ${s}.done WHERE id = d.up LIMIT 1) t ON true
      WHERE d.down = $1`,
    depDependents: `SELECT up, down, optional FROM ${s}.dep WHERE up = ANY($1::bigint[]) AND planned`,
    carryAdd: `INSERT INTO ${s}.dep_carry (up, state) SELECT up, state FROM unnest($1::bigint[], $2::smallint[]) x(up, state)
      WHERE EXISTS (SELECT FROM ${s}.dep d WHERE d.up = x.up AND d.open) ORDER BY up
      ON CONFLICT (up) DO UPDATE SET state = excluded.state`,
    carryTake: `DELETE FROM ${s}.dep_carry WHERE up = ANY(ARRAY(SELECT up FROM ${s}.dep_carry ORDER BY up LIMIT $1))
      RETURNING up, state`,
    carryMore: `SELECT up FROM ${s}.dep_carry ORDER BY up LIMIT 1`,

    // reads
    taskGet: `${record(s, 'task')} WHERE t.id = ANY($1::bigint[]) UNION ALL ${record(s, 'done')} WHERE t.id = ANY($1::bigint[])`,
    attemptList: `SELECT attempt, holder, started_at, ended_at, outcome, error FROM ${s}.attempt WHERE task = $1 ORDER BY attempt`,
    /** The counters and what the sequencer has not added to them yet: exact in every snapshot. */
    queueList: `${stats(s)} ORDER BY q.name`,
    queueStats: `${stats(s)} WHERE q.name = $1`,

    // workers; states: 0 starting, 1 online, 2 draining, 3 offline, 4 lost
    workerAdd: `INSERT INTO ${s}.worker (name, incarnation, state, slots, own_tags, beat_at, host, pid, started_at, handlers, queues,
        version, tags, enabled, priority, own_priority)
      VALUES ($1, $2, 0, $3, $4, ${NOW}, $5, $6, ${NOW}, $7, $8, $9, $10, $11, $12, $13)
      ON CONFLICT (incarnation) DO UPDATE SET beat_at = excluded.beat_at RETURNING id`,
    workerBeat: `UPDATE ${s}.worker w SET beat_at = ${NOW},
        state = coalesce(x.state, CASE WHEN w.state IN (0, 4) THEN 1 ELSE w.state END),
        status = CASE WHEN x.has_status THEN x.status ELSE w.status END,
        metadata = CASE WHEN x.has_metadata THEN x.metadata ELSE w.metadata END
      FROM unnest($1::bigint[], $2::smallint[], $3::boolean[], $4::text[], $5::boolean[], $6::text[])
        x(id, state, has_status, status, has_metadata, metadata)
      WHERE w.id = x.id AND ${few('x.id')} RETURNING w.id`,
    workerReap: `WITH ${HELD},
      x AS (UPDATE ${s}.worker SET state = 4, status = NULL WHERE id = ANY(ARRAY(SELECT id FROM ${s}.worker
          WHERE state IN (0, 1, 2) AND beat_at < ${NOW} - $3 AND EXISTS (SELECT FROM g) FOR UPDATE SKIP LOCKED)) RETURNING id)
      SELECT g.cursor, x.id FROM g LEFT JOIN x ON true ORDER BY x.id`,
    workerEnable: `UPDATE ${s}.worker SET enabled = $2 WHERE id = $1`,
    workerList: `SELECT * FROM ${s}.worker ORDER BY id`,
    workerFleet: `SELECT w.*, (SELECT count(*) FROM ${s}.task WHERE state = 1 AND holder = w.id) AS running, ${NOW} AS now
      FROM ${s}.worker w WHERE w.state IN (0, 1, 2) ORDER BY w.id`,
    settingGet: `SELECT enabled, priority, tags FROM ${s}.worker_setting WHERE name = $1 FOR SHARE`,
    settingMake: `INSERT INTO ${s}.worker_setting (name) VALUES ($1) ON CONFLICT DO NOTHING`,
    settingLock: `SELECT enabled, priority, tags FROM ${s}.worker_setting WHERE name = $1 FOR UPDATE`,
    settingPut: `UPDATE ${s}.worker_setting SET enabled = $2, priority = $3, tags = $4 WHERE name = $1`,
    settingList: `SELECT name, enabled, priority, tags FROM ${s}.worker_setting ORDER BY name`,
    workersNamed: `SELECT id, own_tags FROM ${s}.worker WHERE state IN (0, 1, 2) AND name = $1 ORDER BY id FOR UPDATE`,
    workerChange: `UPDATE ${s}.worker w SET enabled = $2, priority = coalesce($3, own_priority), tags = x.tags, revision = revision + 1
      FROM unnest($1::bigint[], $4::text[]) x(id, tags) WHERE w.id = x.id AND ${few('x.id')}`,

    // limits
    limitLock: `SELECT id, name, body FROM ${s}.limit_def WHERE name = ANY($1::text[]) ORDER BY id FOR SHARE`,
    limitFind: `SELECT id, name, body FROM ${s}.limit_def WHERE name = ANY($1::text[])`,
    limitPut: `INSERT INTO ${s}.limit_def AS d (name, body, revision, changed_at, changed_by) VALUES ($1, $2, 1, ${NOW}, $3)
      ON CONFLICT (name) DO UPDATE SET body = excluded.body, revision = d.revision + 1, changed_at = excluded.changed_at,
        changed_by = excluded.changed_by RETURNING id, revision`,
    limitRemove: `UPDATE ${s}.limit_def SET body = NULL, revision = revision + 1, changed_at = ${NOW}, changed_by = $2
      WHERE name = $1 AND body IS NOT NULL RETURNING id`,
    limitChangeAdd: `INSERT INTO ${s}.limit_change (def, at, by, body) VALUES ($1, ${NOW}, $2, $3)`,
    limitChanges: `SELECT c.at, c.by, c.body FROM ${s}.limit_change c JOIN ${s}.limit_def d ON d.id = c.def WHERE d.name = $1
      ORDER BY c.id DESC LIMIT $2`,
    limitCaps: `WITH l AS MATERIALIZED (SELECT id FROM ${s}.slot WHERE def = $1 ORDER BY id FOR UPDATE)
      UPDATE ${s}.slot SET cap = CASE WHEN key = '' THEN $2::int ELSE $3::int END, plain = $4 WHERE def = $1 AND id = ANY(ARRAY(SELECT id FROM l))`,
    limitList: `SELECT d.name, d.body, d.revision, d.changed_at, d.changed_by, coalesce(s.active, 0) AS active,
        (SELECT count(*) FROM ${s}.lane_slot ls JOIN ${s}.task t ON t.lane = ls.lane AND t.state = 0 WHERE ls.slot = s.id) AS waiting
      FROM ${s}.limit_def d LEFT JOIN ${s}.slot s ON s.def = d.id AND s.key = '' WHERE d.body IS NOT NULL ORDER BY d.name`,
    slotAdd: `INSERT INTO ${s}.slot (def, key, cap, plain)
      SELECT def, key, cap, plain FROM unnest($1::int[], $2::text[], $3::int[], $4::boolean[]) x(def, key, cap, plain)
      ORDER BY def, key ON CONFLICT (def, key) DO NOTHING`,
    slotFind: `SELECT s.id, s.def, s.key FROM unnest($1::int[], $2::text[]) x(def, key)
      JOIN ${s}.slot s ON s.def = x.def AND s.key = x.key WHERE ${few('x.def')}`,
    slotGet: `SELECT ${SLOT}, ${NOW} AS now FROM ${s}.slot s ${def} WHERE s.id = ANY($1::int[])`,
    slotsOf: `SELECT ${SLOT} FROM ${s}.slot s JOIN ${s}.limit_def d ON d.id = s.def WHERE d.name = $1 ORDER BY s.key LIMIT $2`,
    /** In a statement of its own before the claim: the values after the lock are the newest. */
    slotLock: `SELECT ${SLOT}, ${NOW} AS now FROM ${s}.slot s ${def} WHERE s.id = ANY($1::int[])
      ORDER BY s.id FOR UPDATE OF s`,
    slotTake: `UPDATE ${s}.slot s SET active = x.active, tat = x.tat, cost_tat = x.cost_tat
      FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[]) x(id, active, tat, cost_tat) WHERE s.id = x.id AND ${few('x.id')}`,
    slotPause: `WITH l AS MATERIALIZED (SELECT id FROM ${s}.slot WHERE id = ANY($1::int[]) ORDER BY id FOR UPDATE)
      UPDATE ${s}.slot SET paused_until = greatest(paused_until, ${NOW} + $2) WHERE id = ANY(ARRAY(SELECT id FROM l))`,
    slotPauseNamed: `UPDATE ${s}.slot SET paused_until = ${NOW} + $3
      WHERE key = $2 AND def = (SELECT id FROM ${s}.limit_def WHERE name = $1) RETURNING id`,
    slotWaiting: `SELECT count(*) AS n FROM (SELECT FROM ${s}.lane_slot ls ${readyOf} WHERE ls.slot = $1 LIMIT $2) x`,
    slotReady: `SELECT t.id FROM ${s}.lane_slot ls ${readyOf} WHERE ls.slot = $1 LIMIT $2`,
    /** The first in line of each lane; among a million in one lane nobody looks for the smallest number. */
    slotOldest: `SELECT min((SELECT id FROM ${s}.task WHERE lane = ls.lane AND state = 0 ORDER BY prio, id LIMIT 1)) AS id
      FROM ${s}.lane_slot ls WHERE ls.slot = $1`,
    slotRunning: `SELECT min(t.id) AS id FROM ${s}.task t JOIN ${s}.lane_slot ls ON ls.lane = t.lane AND ls.slot = $1
      WHERE t.state = 1 AND t.cancel_at IS NULL`,
    slotHolders: `SELECT t.id AS task, t.created_at, ls.weight, t.holder FROM ${s}.task t
      JOIN ${s}.lane_slot ls ON ls.lane = t.lane AND ls.slot = $1 WHERE t.state = 1 ORDER BY t.id LIMIT $2`,
    slotDrift: `SELECT s.id, d.name, s.key, s.active AS kept, coalesce(c.n, 0) AS counted
      FROM ${s}.slot s JOIN ${s}.limit_def d ON d.id = s.def LEFT JOIN (SELECT ls.slot, sum(ls.weight) AS n
        FROM ${s}.task t JOIN ${s}.lane_slot ls ON ls.lane = t.lane WHERE t.state = 1 GROUP BY ls.slot) c ON c.slot = s.id
      WHERE s.active <> coalesce(c.n, 0) ORDER BY s.id`,
    slotSet: `UPDATE ${s}.slot SET active = $2 WHERE id = $1`,

    // duties
    dutyTake: `WITH b AS (SELECT until FROM ${s}.duty WHERE name = $1),
      t AS (INSERT INTO ${s}.duty AS d (name, holder, epoch, until) VALUES ($1, $2, 1, ${NOW} + $3)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = d.epoch + 1, until = excluded.until
        WHERE d.until < ${NOW} RETURNING epoch, cursor)
      SELECT t.epoch, t.cursor, (SELECT until FROM b) AS was FROM t`,
    dutyMine: `SELECT epoch, cursor FROM ${s}.duty WHERE name = $1 AND holder = $2 AND until >= ${NOW}`,
    dutyRenew: `UPDATE ${s}.duty SET until = ${NOW} + $3 WHERE name = $1 AND epoch = $2 AND until >= ${NOW} RETURNING epoch`,
    dutyAlone: `SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR UPDATE`,
    dutyRelease: `UPDATE ${s}.duty SET until = 0 WHERE name = $1 AND epoch = $2`,
    /** Alone: a second sending of the same waits, and then sees what the first has done. */
    dutyHeld: `SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR NO KEY UPDATE`,
    dutyCursor: `UPDATE ${s}.duty SET cursor = $3 WHERE name = $1 AND epoch = $2`,

    // events: who acts on a task has seen the commit before, so its row in the outbox has the larger id
    sequence: `WITH f AS MATERIALIZED (SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR UPDATE),
      x AS (DELETE FROM ${s}.outbox WHERE id = ANY(ARRAY(SELECT id FROM ${s}.outbox WHERE EXISTS (SELECT FROM f) ORDER BY id LIMIT $3))
        RETURNING *),
      n AS (SELECT x.*, (SELECT cursor FROM f) + 1
          + coalesce(sum(n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS seq FROM x),
      i AS (INSERT INTO ${s}.event (seq, n, at, queue, kind, state, ids, attempts, born, note)
        SELECT seq, n, at, queue, kind, state, ids, attempts, born, note FROM n RETURNING n),
      q AS (INSERT INTO ${s}.qstat AS c (queue, ready, running, scheduled, waiting, completed, failed, cancelled)
        SELECT queue, sum(d_ready), sum(d_running), sum(d_scheduled), sum(d_waiting), sum(d_completed), sum(d_failed),
          sum(d_cancelled) FROM x GROUP BY queue ORDER BY queue
        ON CONFLICT (queue) DO UPDATE SET ready = c.ready + excluded.ready, running = c.running + excluded.running,
          scheduled = c.scheduled + excluded.scheduled, waiting = c.waiting + excluded.waiting,
          completed = c.completed + excluded.completed, failed = c.failed + excluded.failed,
          cancelled = c.cancelled + excluded.cancelled),
      u AS (UPDATE ${s}.duty SET cursor = cursor + (SELECT coalesce(sum(n), 0) FROM i)
        WHERE name = $1 AND epoch = $2 AND EXISTS (SELECT FROM i) RETURNING cursor)
      SELECT (SELECT cursor FROM f) AS held, (SELECT count(*) FROM i) AS rows, (SELECT coalesce(sum(n), 0) FROM i) AS events`,
    eventRead: `SELECT seq, n, at, queue, kind, state, ids, attempts, born FROM ${s}.event
      WHERE seq >= coalesce((SELECT seq FROM ${s}.event WHERE seq <= $1 ORDER BY seq DESC LIMIT 1), 0) ORDER BY seq LIMIT $2`,

    // audit
    audit: `WITH c AS (SELECT queue, state, count(*) AS n FROM ${s}.task GROUP BY queue, state)
      SELECT q.id, q.name, x.state, coalesce(c.n, 0) AS counted, x.kept FROM (${stats(s)}) q
      CROSS JOIN LATERAL (VALUES (0, q.ready), (1, q.running), (2, q.scheduled), (3, q.waiting)) x(state, kept)
      LEFT JOIN c ON c.queue = q.id AND c.state = x.state WHERE coalesce(c.n, 0) <> x.kept ORDER BY q.name, x.state`,
    statAdd: `INSERT INTO ${s}.qstat AS c (queue, ready, running, scheduled, waiting) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (queue) DO UPDATE SET ready = c.ready + excluded.ready, running = c.running + excluded.running,
        scheduled = c.scheduled + excluded.scheduled, waiting = c.waiting + excluded.waiting`,

    // prune
    pruneOps: `DELETE FROM ${s}.op WHERE id = ANY(ARRAY(SELECT id FROM ${s}.op WHERE until < ${NOW} LIMIT $1))`,
    pruneFlights: `DELETE FROM ${s}.flight WHERE (store, n) IN (SELECT store, n FROM ${s}.flight WHERE at < ${NOW} - $1 LIMIT $2)`,
    pruneEventsLook: `SELECT seq, n, at FROM ${s}.event ORDER BY seq LIMIT $1`,
    pruneEvents: `DELETE FROM ${s}.event WHERE seq <= $1 AND seq < (SELECT max(seq) FROM ${s}.event)`,
    pruneWorkers: `DELETE FROM ${s}.worker WHERE id = ANY(ARRAY(SELECT w.id FROM ${s}.worker w
      WHERE w.state IN (3, 4) AND w.beat_at < ${NOW} - $1
      AND NOT EXISTS (SELECT FROM ${s}.task t WHERE t.state = 1 AND t.holder = w.id) LIMIT $2)) RETURNING id`,
    /** What belongs to tasks that are gone. */
    pruneBodies: `DELETE FROM ${s}.body WHERE task = ANY($1::bigint[])`,
    pruneAttempts: `DELETE FROM ${s}.attempt WHERE task = ANY($1::bigint[])`,
    pruneLogs: `DELETE FROM ${s}.log WHERE task = ANY($1::bigint[])`,
    pruneDeps: `DELETE FROM ${s}.dep WHERE down = ANY($1::bigint[])`,
    pruneUniq: `DELETE FROM ${s}.uniq WHERE task = ANY($1::bigint[])`,
    pruneWaits: `DELETE FROM ${s}.wait WHERE task = ANY($1::bigint[])`,
    pruneCheckpoints: `DELETE FROM ${s}.checkpoint WHERE task = ANY($1::bigint[])`,
    /** From the oldest on: their numbers are in the order of their times. */
    pruneSignals: `DELETE FROM ${s}.signal WHERE id = ANY(ARRAY(SELECT id FROM
      (SELECT id, at FROM ${s}.signal ORDER BY id LIMIT $2) x WHERE at < $1)) RETURNING id`,
    pruneDone: `DELETE FROM ${s}.done WHERE id = ANY($1::bigint[]) AND ended_at < $2 RETURNING id`,

    // triggers; putting one again keeps its place in an unchanged schedule, so that no slot is lost or fires again
    triggerPut: `INSERT INTO ${s}.trigger_def AS d (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (name) DO UPDATE SET lane = excluded.lane,
        spec = excluded.spec, cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed,
        prio = excluded.prio, max_tries = excluded.max_tries, payload = excluded.payload,
        next_at = CASE WHEN d.cron = excluded.cron AND d.timezone = excluded.timezone THEN d.next_at
          ELSE excluded.next_at END RETURNING next_at`,
    triggerRemove: `DELETE FROM ${s}.trigger_def WHERE name = $1 RETURNING name`,
    triggerList: `SELECT t.*, l.handler, q.name AS queue FROM ${s}.trigger_def t JOIN ${s}.lane l ON l.id = t.lane
      JOIN ${s}.queue q ON q.id = l.queue ORDER BY t.name`,
    triggerDue: `SELECT t.*, l.handler, q.name AS queue FROM ${s}.trigger_def t JOIN ${s}.lane l ON l.id = t.lane
      JOIN ${s}.queue q ON q.id = l.queue WHERE t.next_at <= $1 ORDER BY t.next_at LIMIT $2`,
    triggerNext: `SELECT min(next_at) AS at FROM ${s}.trigger_def WHERE next_at > $1`,
    triggerMove: `UPDATE ${s}.trigger_def SET next_at = $1 WHERE name = $2 AND next_at = $3 RETURNING name`,

    notify: 'SELECT pg_notify($1, $2)',
  } as const;
}

export type Statements = ReturnType<typeof statements>;
export type StatementName = keyof Statements;

/** A task's record, unfinished or finished; the columns come in the same order from both tables. */
export function record(s: string, table: 'task' | 'done'): string {
  const own =
    table === 'task'
      ? 'NULL::bigint AS ended_at, 0::smallint AS reason, NULL::text AS result, t.run_at, t.lease_until, t.expires_at'
      : 't.ended_at, t.reason, t.result, NULL::bigint AS run_at, NULL::bigint AS lease_until, NULL::bigint AS expires_at';
  return `SELECT t.id, t.lane, t.spec, (SELECT name FROM ${s}.queue q WHERE q.id = t.queue) AS queue,
    (SELECT handler FROM ${s}.lane l WHERE l.id = t.lane) AS handler, t.state, t.prio, t.attempt, t.tries, t.max_tries, t.bounces,
    t.flags, t.holder, t.created_at, t.started_at, t.cancel_at, t.payload, ${own},
    (SELECT key FROM ${s}.uniq u WHERE u.task = t.id LIMIT 1) AS unique_key,
    CASE WHEN t.flags & 2 <> 0 THEN (SELECT data FROM ${s}.body b WHERE b.task = t.id AND b.part = 0) END AS payload_apart,
    CASE WHEN t.flags & 8 <> 0 THEN (SELECT data FROM ${s}.body b WHERE b.task = t.id AND b.part = 1) END AS result_apart
    FROM ${s}.${table} t`;
}

function stats(s: string): string {
  const states = ['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'];
  const sums = states.map((state) => `sum(d_${state}) AS ${state}`).join(', ');
  const both = states.map((state) => `coalesce(c.${state}, 0) + coalesce(o.${state}, 0) AS ${state}`).join(', ');
  return `SELECT q.id, q.name, q.paused, ${both} FROM ${s}.queue q LEFT JOIN ${s}.qstat c ON c.queue = q.id
    LEFT JOIN (SELECT queue, ${sums} FROM ${s}.outbox GROUP BY queue) o ON o.queue = q.id`;
}

/** Fragments that statements of several topics use. */

/** Always true, but the planner estimates one row in two hundred: so few that it looks each of them up by its key. */
export const few = (key: string, nothing = '+ 0'): string => `${key} ${nothing} = ${key}`;
export const LANE = `l.id, l.queue AS queue_id, q.name AS queue, l.handler, q.paused, l.placement, l.fair_key, l.weight, l.limits,
  l.uses AS slots, l.served_by`;
/** The columns of `task`. A finished row has further ones after them. */
export const KEPT = `id, created_at, started_at, cancel_at, queue, lane, spec, attempt, holder, prio, tries, max_tries, bounces,
  payload, parent, root`;

/** All columns of `done`. */
export const FINISHED = `${KEPT}, state, reason, flags, ended_at, result`;

/**
 * How many of the newest event rows are searched for those of a call whose answer was lost: far more than are written
 * within its deadline.
 */
const RECENT = 1_000_000;

export type Fragments = ReturnType<typeof fragments>;

/** `s` is the schema, quoted. */
export function fragments(s: string) {
  /** Evaluated once per statement, not per row. */
  const NOW = `(SELECT ${s}.now_ms())`;
  const HELD = `g AS MATERIALIZED (SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR SHARE)`;

  /**
   * Writes events for the rows of `from`, which has queue, id, attempt and created_at. `deltas` says by how much the
   * count of each state changes.
   */
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
    `INSERT INTO ${s}.done (${FINISHED})
      SELECT ${KEPT}, ${state}, ${reason}, ${flags}, ${NOW}, ${result} FROM ${from}`;
  /**
   * Changes the counters of limits by what the tasks of `from` take. Several counters are locked in the order of their
   * numbers, because each is looked up by its key as it comes.
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
  const recent = `(SELECT * FROM ${s}.event ORDER BY seq DESC LIMIT ${RECENT}) e`;
  return { s, NOW, HELD, tell, where, gain, end, count, give, recent };
}

import { AT_TIME } from '../../codes.ts';
import { type Fragments, few } from './fragments.ts';

/** Further than any transaction that is under way. */
const AHEAD = 1_000_000_000;

/**
 * Statements that move what is due after a while by $1 milliseconds, because the server's clock was set back by as much. $2 is a snapshot
 * from before that. A row whose last writer was over by then has times of the old clock. Of a younger row that is certain if it was
 * written at a time that has not come yet. The sets of tasks are disjoint, because a row that was moved has a new writer.
 */
export function clockStatements({ s, NOW }: Fragments) {
  /** Of the 64 bits of a transaction's number a row keeps 32. The others are those of the present. */
  const NEWEST = `(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${AHEAD})`;
  const before = (row: string): string =>
    `pg_visible_in_snapshot((${NEWEST} - ((${NEWEST} - ${row}.xmin::text::bigint) & 4294967295))::text::xid8, $2::text::pg_snapshot)`;
  /** The time of a task that waits for others is written again when they have ended. */
  const createdLater = `(t.created_at > ${NOW} AND (SELECT d.up FROM ${s}.dep d WHERE d.down = t.id LIMIT 1) IS NULL)`;

  return {
    /** Delays, retries and parks, with the wait timeouts of the first. */
    stepDue: `WITH o AS MATERIALIZED (SELECT t.id FROM ${s}.task t
        WHERE t.state IN (2, 3) AND t.run_at IS NOT NULL AND (t.state + 0 = 3 OR t.flags & ${AT_TIME} = 0)
          AND (${before('t')} OR CASE WHEN t.state + 0 = 3 THEN (SELECT w.since FROM ${s}.wait w WHERE w.task = t.id) > ${NOW}
            WHEN t.attempt = 0 THEN ${createdLater}
            ELSE (SELECT a.ended_at FROM ${s}.attempt a WHERE a.task = t.id AND a.attempt = t.attempt) > ${NOW} END)
        ORDER BY t.id FOR UPDATE OF t),
      u AS (UPDATE ${s}.task t SET run_at = t.run_at - $1::bigint,
          expires_at = CASE WHEN t.state = 2 AND t.attempt = 0 THEN t.expires_at - $1::bigint ELSE t.expires_at END
        FROM o WHERE t.id = o.id AND ${few('o.id')} RETURNING t.id, t.state, t.run_at)
      UPDATE ${s}.wait w SET deadline = u.run_at FROM u WHERE w.task = u.id AND u.state = 3 AND w.state = 0 AND ${few('u.id')}`,
    /** Delays of tasks that wait for others: until then `lease_until` is the time at which they are due. */
    stepHeld: `WITH o AS MATERIALIZED (SELECT t.id FROM ${s}.task t
        WHERE t.state IN (2, 3) AND t.run_at IS NULL AND t.state + 0 = 3 AND t.lease_until IS NOT NULL AND t.flags & ${AT_TIME} = 0
          AND (${before('t')} OR t.created_at > ${NOW}) ORDER BY t.id FOR UPDATE OF t)
      UPDATE ${s}.task t SET lease_until = t.lease_until - $1::bigint FROM o WHERE t.id = o.id AND ${few('o.id')}`,
    /** Wait timeouts of ready tasks. */
    stepExpiry: `WITH o AS MATERIALIZED (SELECT t.id FROM ${s}.task t
        WHERE t.expires_at IS NOT NULL AND t.state IN (0, 2) AND t.attempt = 0 AND t.state + 0 = 0 AND t.flags & ${AT_TIME} = 0
          AND (${before('t')} OR ${createdLater}) ORDER BY t.id FOR UPDATE OF t)
      UPDATE ${s}.task t SET expires_at = t.expires_at - $1::bigint FROM o WHERE t.id = o.id AND ${few('o.id')}`,
    /** A lease that is locked is being renewed or ended. When one was renewed is not known, so a younger row is left to its worker. */
    stepLease: `WITH o AS MATERIALIZED (SELECT t.id FROM ${s}.task t WHERE t.state = 1 AND ${before('t')}
        ORDER BY t.id FOR UPDATE OF t SKIP LOCKED)
      UPDATE ${s}.task t SET lease_until = t.lease_until - $1::bigint FROM o WHERE t.id = o.id AND ${few('o.id')}`,
    /** Rates are in µs. Claims write these rows all the time, so whatever is ahead is moved: at worst, a burst comes early once. */
    stepSlot: `WITH o AS MATERIALIZED (SELECT id FROM ${s}.slot
        WHERE tat > ${NOW} * 1000 OR cost_tat > ${NOW} * 1000 OR paused_until > ${NOW} ORDER BY id FOR UPDATE)
      UPDATE ${s}.slot c SET tat = CASE WHEN tat > ${NOW} * 1000 THEN tat - $1::bigint * 1000 ELSE tat END,
        cost_tat = CASE WHEN cost_tat > ${NOW} * 1000 THEN cost_tat - $1::bigint * 1000 ELSE cost_tat END,
        paused_until = CASE WHEN paused_until > ${NOW} THEN paused_until - $1::bigint ELSE paused_until END
      FROM o WHERE c.id = o.id AND ${few('o.id')}`,
    /** Who beats is locked, or has beaten since. */
    stepWorker: `WITH o AS MATERIALIZED (SELECT id FROM ${s}.worker WHERE state IN (0, 1, 2) AND beat_at > ${NOW}
        ORDER BY id FOR UPDATE SKIP LOCKED)
      UPDATE ${s}.worker w SET beat_at = w.beat_at - $1::bigint FROM o WHERE w.id = o.id AND ${few('o.id')}`,
    stepNode: `WITH o AS MATERIALIZED (SELECT id FROM ${s}.cluster_node WHERE beat_at > ${NOW} ORDER BY id FOR UPDATE SKIP LOCKED)
      UPDATE ${s}.cluster_node n SET beat_at = n.beat_at - $1::bigint FROM o WHERE n.id = o.id`,
    /** The terms of other duties. A locked one has a holder that works. */
    stepDuty: `WITH o AS MATERIALIZED (SELECT d.name FROM ${s}.duty d WHERE d.until > ${NOW} AND d.name <> $3 AND ${before('d')}
        FOR UPDATE OF d SKIP LOCKED)
      UPDATE ${s}.duty d SET until = d.until - $1::bigint FROM o WHERE d.name = o.name`,
  } as const;
}

import { type Fragments, few } from './fragments.ts';

/** Statements of pools. */
export function poolStatements({ s, NOW }: Fragments) {
  /** A ticket from ahead was made before the clock was set back. */
  const OVER = `(expires_at <= ${NOW} OR made_at > ${NOW} + 5000)`;
  const there = (stale: string): string =>
    `w.state IN (0, 1, 2) AND w.beat_at >= ${NOW} - coalesce(w.stale_ms, greatest(${stale}::bigint, 2 * w.beat_ms))`;
  const members = `SELECT w.id AS worker, w.name, w.leaving_at, w.ticket, t.idle_since, t.ended AS seen_ended,
        coalesce((SELECT x.ended FROM ${s}.worker_total x WHERE x.name = w.name), 0) AS ended,
        (SELECT count(*) FROM ${s}.task WHERE state = 1 AND holder = w.id) AS running
      FROM ${s}.worker w LEFT JOIN ${s}.pool_tickets t ON t.id = w.ticket WHERE ${there('$2')} AND w.pool = $1`;
  return {
    poolGet: `SELECT * FROM ${s}.pools WHERE name = $1`,
    poolList: `SELECT * FROM ${s}.pools WHERE name > $1 ORDER BY name LIMIT $2`,
    /** A new one is locked by its insert. */
    poolMake: `INSERT INTO ${s}.pools (name, body, revision, created_at, changed_at, changed_by)
      VALUES ($1, '{}', 0, ${NOW}, ${NOW}, '') ON CONFLICT (name) DO NOTHING`,
    poolHold: `SELECT revision, ${NOW} AS now FROM ${s}.pools WHERE name = $1 FOR UPDATE`,
    poolSet: `UPDATE ${s}.pools SET body = $2, revision = $3, changed_at = $4, changed_by = $5 WHERE name = $1`,
    poolDrop: `DELETE FROM ${s}.pools WHERE name = $1 RETURNING name`,
    poolTicketsDrop: `DELETE FROM ${s}.pool_tickets WHERE pool = $1`,
    poolDecisionsDrop: `DELETE FROM ${s}.pool_decisions WHERE pool = $1`,
    poolChanged: `UPDATE ${s}.pools SET up_at = CASE WHEN $2::boolean THEN ${NOW} ELSE up_at END,
      down_at = CASE WHEN $3::boolean THEN ${NOW} ELSE down_at END WHERE name = $1`,
    poolMembers: `${members} ORDER BY w.id`,
    /** One statement, so that a worker which registers meanwhile is there by itself or by its ticket. Without members one row has none. */
    poolLook: `SELECT c.*, m.* FROM (
        SELECT ${NOW} AS now, count(*) FILTER (WHERE NOT ${OVER}) AS open, count(*) FILTER (WHERE ${OVER}) AS overdue,
          min(expires_at) FILTER (WHERE NOT ${OVER}) AS next
        FROM ${s}.pool_tickets WHERE pool = $1 AND state = 0) c LEFT JOIN (${members}) m ON true`,
    /** One statement, so that a worker which registers meanwhile is counted by itself or by its ticket. */
    poolCount: `SELECT (SELECT count(*) FROM ${s}.worker w WHERE ${there('$2')} AND w.pool = $1)
      + (SELECT count(*) FROM ${s}.pool_tickets WHERE pool = $1 AND state = 0) AS there`,
    ticketFailures: `SELECT count(*) AS failures, max(ended_at) AS failed_at FROM ${s}.pool_tickets
      WHERE pool = $1 AND state IN (2, 3)
        AND n > coalesce((SELECT max(n) FROM ${s}.pool_tickets WHERE pool = $1 AND state = 1), 0)`,
    ticketAdd: `INSERT INTO ${s}.pool_tickets (id, pool, hash, state, at, made_at, expires_at)
      SELECT x.id, $1, x.hash, 0, ${NOW}, ${NOW}, ${NOW} + $4::bigint FROM unnest($2::text[], $3::text[]) WITH ORDINALITY x(id, hash, place)
      ORDER BY x.place`,
    ticketsExpire: `UPDATE ${s}.pool_tickets SET state = 3, ended_at = ${NOW} WHERE pool = $1 AND state = 0 AND ${OVER} RETURNING n`,
    ticketHeld: `SELECT state, expires_at, pool, ${NOW} AS now FROM ${s}.pool_tickets
      WHERE id = $1 AND hash = $2 FOR UPDATE`,
    workerBrought: `SELECT pool FROM ${s}.worker WHERE incarnation = $1 AND ticket = $2`,
    ticketUse: `UPDATE ${s}.pool_tickets SET state = 1, ended_at = ${NOW}, worker = $2 WHERE id = $1`,
    ticketStarted: `UPDATE ${s}.pool_tickets SET started = $2 WHERE id = $1`,
    ticketFail: `UPDATE ${s}.pool_tickets SET state = 2, error = $2, ended_at = ${NOW} WHERE id = $1 AND state = 0`,
    ticketsSeen: `UPDATE ${s}.pool_tickets t SET idle_since = x.since, ended = x.ended
      FROM unnest($1::text[], $2::bigint[], $3::bigint[]) x(id, since, ended) WHERE t.id = x.id AND ${few('x.id', "|| ''")}`,
    ticketList: `SELECT n, id, state, at, expires_at, ended_at, started, error, worker FROM ${s}.pool_tickets
      WHERE pool = $1 AND n < $2 ORDER BY n DESC LIMIT $3`,
    /** Those whose workers are still there stay: they are what a worker was brought by. */
    ticketsPrune: `DELETE FROM ${s}.pool_tickets WHERE n IN (SELECT n FROM ${s}.pool_tickets t WHERE t.pool = $1 AND t.state <> 0
      AND NOT EXISTS (SELECT FROM ${s}.worker w WHERE w.id = t.worker AND w.state IN (0, 1, 2)) ORDER BY n DESC OFFSET $2)`,
    /** Of the incarnation, not of its name. The claim itself checks that a worker is enabled. */
    workersSend: `UPDATE ${s}.worker w SET leaving_at = ${NOW}, enabled = false, revision = revision + 1
      WHERE w.id = ANY($1::bigint[]) AND w.leaving_at IS NULL AND w.ticket IS NOT NULL AND w.pool = $2
        AND NOT EXISTS (SELECT FROM ${s}.task t WHERE t.state = 1 AND t.holder = w.id) RETURNING w.id`,
    decisionAdd: `INSERT INTO ${s}.pool_decisions (pool, n, at, course, body, launched, drained)
      SELECT $1, coalesce(max(n), 0) + 1, ${NOW}, $2, $3, $4, $5 FROM ${s}.pool_decisions WHERE pool = $1 RETURNING n`,
    decisionsPrune: `DELETE FROM ${s}.pool_decisions WHERE pool = $1 AND n <= $2`,
    decisionList: `SELECT n, at, course, body, launched, drained FROM ${s}.pool_decisions WHERE pool = $1 AND n < $2
      ORDER BY n DESC LIMIT $3`,
  } as const;
}

import { MOST_ERROR, MOST_SCHEMAS, MOST_SCHEMAS_OF_ONE } from '../../port/insight-store.ts';
import type { Fragments } from './fragments.ts';

/** Statements for figures, failures and saved views. */
export function insightStatements({ s, NOW }: Fragments) {
  const next = (table: 'task' | 'done'): string =>
    `(SELECT t.id, t.created_at FROM ${s}.${table} t WHERE t.id >= m.middle ORDER BY t.id LIMIT 1)`;
  const end = (which: 'min' | 'max'): string =>
    `(SELECT ${which === 'min' ? 'least' : 'greatest'}((SELECT ${which}(id) FROM ${s}.task), (SELECT ${which}(id) FROM ${s}.done)))`;
  return {
    /** The first id that was created then or later, by binary search: ids and times grow together. */
    taskAt: `WITH RECURSIVE h(low, high) AS (
        SELECT coalesce(${end('min')}, 0), coalesce(${end('max')} + 1, 0)
        UNION ALL
        SELECT CASE WHEN n.created_at >= $1::bigint THEN m.low ELSE n.id + 1 END,
          CASE WHEN n.created_at >= $1::bigint THEN m.middle ELSE m.high END
        FROM (SELECT low, high, (low + high) / 2 AS middle FROM h WHERE low < high) m
        CROSS JOIN LATERAL (SELECT x.id, x.created_at FROM (${next('task')} UNION ALL ${next('done')}) x
          ORDER BY x.id LIMIT 1) n)
      SELECT low AS id FROM h WHERE low >= high LIMIT 1`,
    failureList: `SELECT t.id, (SELECT name FROM ${s}.queue q WHERE q.id = t.queue) AS queue,
        (SELECT handler FROM ${s}.lane l WHERE l.id = t.lane) AS handler, t.reason, t.created_at, t.ended_at,
        left(coalesce(t.result, CASE WHEN t.flags & 8 <> 0 THEN
          (SELECT data FROM ${s}.body b WHERE b.task = t.id AND b.part = 1) END), ${MOST_ERROR}) AS error
      FROM ${s}.done t WHERE t.state = 5 AND t.id < $1::bigint ORDER BY t.id DESC LIMIT $2::int`,
    handlerQueues: `SELECT DISTINCT n.handler, (SELECT name FROM ${s}.queue q WHERE q.id = n.queue) AS queue
      FROM (SELECT handler, queue FROM ${s}.lane ORDER BY id DESC LIMIT $1::int) n`,
    viewPut: `INSERT INTO ${s}.saved_view (name, screen, query, saved_by, saved_at) SELECT $1, $2, $3, $4, ${NOW}
      WHERE (SELECT count(*) FROM ${s}.saved_view WHERE name <> $1) < $5
      ON CONFLICT (name) DO UPDATE SET screen = excluded.screen, query = excluded.query, saved_by = excluded.saved_by,
        saved_at = excluded.saved_at RETURNING name, screen, query, saved_by, saved_at`,
    viewList: `SELECT name, screen, query, saved_by, saved_at FROM ${s}.saved_view ORDER BY name`,
    viewDrop: `DELETE FROM ${s}.saved_view WHERE name = $1 RETURNING name`,
    // In one order for all, so that workers that start together do not deadlock.
    schemaPut: `INSERT INTO ${s}.worker_schema AS h (worker, handler, schema, told_at)
      SELECT $1, n.handler, n.schema, ${NOW} FROM unnest($2::text[], $3::text[]) AS n (handler, schema) ORDER BY n.handler
      ON CONFLICT (worker, handler) DO UPDATE SET schema = excluded.schema, told_at = excluded.told_at
        WHERE h.schema <> excluded.schema RETURNING handler`,
    schemaTrimOne: `DELETE FROM ${s}.worker_schema WHERE worker = $1 AND handler IN
      (SELECT handler FROM ${s}.worker_schema WHERE worker = $1 ORDER BY told_at DESC, handler OFFSET ${MOST_SCHEMAS_OF_ONE})`,
    schemaTrim: `DELETE FROM ${s}.worker_schema WHERE (worker, handler) IN
      (SELECT worker, handler FROM ${s}.worker_schema ORDER BY told_at DESC, worker, handler OFFSET ${MOST_SCHEMAS})`,
    schemaList: `SELECT worker, handler, schema FROM ${s}.worker_schema ORDER BY handler, worker`,
    schemaDrop: `DELETE FROM ${s}.worker_schema WHERE worker = $1`,
  } as const;
}

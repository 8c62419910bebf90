import { MOST_ERROR, MOST_SCHEMAS, MOST_SCHEMAS_OF_ONE } from '../../port/insight-store.ts';

export const INSIGHT_STATEMENTS = {
  taskFirst: 'SELECT min(id) AS id FROM task',
  taskFrom: 'SELECT id, created_at FROM task WHERE id >= ? ORDER BY id LIMIT 1',
  failureList: `SELECT t.id, q.name AS queue, l.handler, t.reason, t.created_at, t.ended_at,
      substr(coalesce(t.result, (SELECT data FROM body WHERE task = t.id AND part = 1)), 1, ${MOST_ERROR}) AS error
    FROM task t CROSS JOIN lane l ON l.id = t.lane CROSS JOIN queue q ON q.id = l.queue
    WHERE t.state = 5 AND t.id < ? ORDER BY t.id DESC LIMIT ?`,
  handlerQueues: `SELECT l.handler, q.name AS queue FROM lane l CROSS JOIN queue q ON q.id = l.queue
    ORDER BY l.id DESC LIMIT ?`,
  viewPut: `INSERT INTO saved_view (name, screen, query, saved_by, saved_at) SELECT ?1, ?2, ?3, ?4, ?5
    WHERE (SELECT count(*) FROM saved_view WHERE name <> ?1) < ?6
    ON CONFLICT (name) DO UPDATE SET screen = excluded.screen, query = excluded.query, saved_by = excluded.saved_by,
      saved_at = excluded.saved_at`,
  viewList: 'SELECT name, screen, query, saved_by, saved_at FROM saved_view ORDER BY name',
  viewDrop: 'DELETE FROM saved_view WHERE name = ?',
  schemaPut: `INSERT INTO worker_schema (worker, handler, schema, told_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (worker, handler) DO UPDATE SET schema = excluded.schema, told_at = excluded.told_at
      WHERE schema <> excluded.schema`,
  schemaTrimOne: `DELETE FROM worker_schema WHERE worker = :worker AND handler IN
    (SELECT handler FROM worker_schema WHERE worker = :worker ORDER BY told_at DESC, handler LIMIT -1 OFFSET ${MOST_SCHEMAS_OF_ONE})`,
  schemaTrim: `DELETE FROM worker_schema WHERE (worker, handler) IN
    (SELECT worker, handler FROM worker_schema ORDER BY told_at DESC, worker, handler LIMIT -1 OFFSET ${MOST_SCHEMAS})`,
  schemaList: 'SELECT worker, handler, schema FROM worker_schema ORDER BY handler, worker',
  schemaDrop: 'DELETE FROM worker_schema WHERE worker = ?',
} as const;

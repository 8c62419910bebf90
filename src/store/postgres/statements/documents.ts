import { COUNTS, DOCUMENT_COLUMNS } from '../../rows/document-rows.ts';
import type { Fragments } from './fragments.ts';

/** Statements of documents. */
export function documentStatements({ s, NOW }: Fragments) {
  /** The state and the last attempt of the task of a document, or of the document that it shows. */
  const shown = `LEFT JOIN LATERAL (SELECT task FROM ${s}.task_document WHERE id = d.shows OFFSET 0) o ON true
    LEFT JOIN LATERAL (SELECT state, attempt FROM ${s}.task WHERE id = coalesce(o.task, d.task)
      UNION ALL SELECT state, attempt FROM ${s}.done WHERE id = coalesce(o.task, d.task) LIMIT 1) t ON true`;
  const listed = `SELECT ${DOCUMENT_COLUMNS}, t.state, t.attempt FROM ${s}.task_document d ${shown}`;
  const alone = `(SELECT 1 FROM ${s}.task_document x WHERE x.root = d.id AND x.id <> d.id LIMIT 1) IS NULL`;
  /** A value of a document of the call, whose ids are $2. */
  const given = (n: number, type: string): string => `($${n}::${type}[])[array_position($2::text[], id)]`;
  /** Looked up by their ids, even if the planner expects few rows. */
  const mine = `id = ANY($2::text[]) AND root || '' = $1`;
  return {
    documentLock: `SELECT version, root FROM ${s}.task_document WHERE id = $1 FOR UPDATE`,
    documentAdd: `INSERT INTO ${s}.task_document (id, root, parent, user_id, shows, body, task, created_at, updated_at)
      SELECT x.id, $1, x.parent, x.user_id, x.shows, x.body, x.task, ${NOW}, ${NOW}
      FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
        WITH ORDINALITY x(id, parent, user_id, shows, body, task, n) ORDER BY x.n ON CONFLICT (id) DO NOTHING RETURNING id`,
    documentChange: `UPDATE ${s}.task_document SET parent = ${given(3, 'text')}, user_id = ${given(4, 'text')},
        dropped = ${given(5, 'boolean')}, body = ${given(6, 'text')}, version = version + 1, updated_at = ${NOW} WHERE ${mine}`,
    documentRemove: `DELETE FROM ${s}.task_document WHERE ${mine}`,
    documentRun: `UPDATE ${s}.task_document SET task = ${given(3, 'bigint')}, run = run + 1, version = version + 1,
        updated_at = ${NOW} WHERE ${mine}`,
    documentGrow: `UPDATE ${s}.task_document SET version = $2, updated_at = ${NOW} WHERE id = $1`,
    documentGet: `${listed} WHERE d.id = ANY($1::text[])`,
    documentOf: `SELECT ${DOCUMENT_COLUMNS}, t.state, t.attempt FROM unnest($1::bigint[]) x(id) CROSS JOIN LATERAL (
        SELECT * FROM ${s}.task_document WHERE task = x.id ORDER BY num LIMIT 1) d ${shown}`,
    documentTree: `${listed} WHERE d.root = $1 ORDER BY d.num`,
    documentList: `${listed} WHERE (NOT $1::boolean OR d.parent IS NULL) AND d.num < $2 ORDER BY d.num DESC LIMIT $3`,
    documentListUser: `${listed} WHERE d.user_id = $4 AND (NOT $1::boolean OR d.parent IS NULL) AND d.num < $2
      ORDER BY d.num DESC LIMIT $3`,
    documentCount: `SELECT ${COUNTS} FROM ${s}.task_document d ${shown}
      WHERE (NOT $1::boolean OR d.parent IS NULL) AND ($2::text IS NULL OR d.user_id = $2)`,
    /** A document goes with its task. A root that has other documents goes with the last of them. */
    pruneDocuments: `DELETE FROM ${s}.task_document d WHERE task = ANY($1::bigint[]) AND (id <> root OR ${alone}) RETURNING root`,
    pruneDocumentRoots: `DELETE FROM ${s}.task_document d WHERE id = ANY($1::text[]) AND task IS NOT NULL
      AND (SELECT 1 FROM ${s}.task t WHERE t.id = d.task) IS NULL
      AND (SELECT 1 FROM ${s}.done t WHERE t.id = d.task LIMIT 1) IS NULL AND ${alone}`,
  } as const;
}

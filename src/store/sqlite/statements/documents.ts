import { COUNTS, DOCUMENT_COLUMNS } from '../../rows/document-rows.ts';

/** A document with the state and the last attempt of its task, or of the document that it shows. */
const LISTED = `SELECT ${DOCUMENT_COLUMNS}, t.state, t.attempt FROM task_document d LEFT JOIN task_document o ON o.id = d.shows
    LEFT JOIN task t ON t.id = coalesce(o.task, d.task)`;

export const DOCUMENT_STATEMENTS = {
  documentVersion: 'SELECT version, root FROM task_document WHERE id = ?',
  documentAdd: `INSERT INTO task_document (id, root, parent, user_id, shows, body, task, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  documentChange: `UPDATE task_document SET parent = ?, user_id = ?, dropped = ?, body = ?, version = version + 1, updated_at = ?
    WHERE id = ? AND root = ?`,
  documentRemove: 'DELETE FROM task_document WHERE id = ? AND root = ?',
  documentRun: `UPDATE task_document SET task = ?, run = run + 1, version = version + 1, updated_at = ?
    WHERE id = ? AND root = ?`,
  documentGrow: 'UPDATE task_document SET version = ?, updated_at = ? WHERE id = ?',
  documentGet: `${LISTED} WHERE d.id = ?`,
  documentOf: `${LISTED} WHERE d.task = ? ORDER BY d.num LIMIT 1`,
  documentTree: `${LISTED} WHERE d.root = ? ORDER BY d.num`,
  documentList: `${LISTED} WHERE (?1 = 0 OR d.parent IS NULL) AND d.num < ?2 ORDER BY d.num DESC LIMIT ?3`,
  documentListUser: `${LISTED} WHERE d.user_id = ?4 AND (?1 = 0 OR d.parent IS NULL) AND d.num < ?2
    ORDER BY d.num DESC LIMIT ?3`,
  documentCount: `SELECT ${COUNTS} FROM task_document d LEFT JOIN task_document o ON o.id = d.shows
    LEFT JOIN task t ON t.id = coalesce(o.task, d.task)
    WHERE (?1 = 0 OR d.parent IS NULL) AND (?2 IS NULL OR d.user_id = ?2)`,
  // A document goes with its task. A root that has other documents goes with the last of them.
  pruneDocument: `DELETE FROM task_document AS d WHERE task = ?
    AND (id <> root OR NOT EXISTS (SELECT 1 FROM task_document x WHERE x.root = d.id AND x.id <> d.id)) RETURNING root`,
  pruneDocumentRoot: `DELETE FROM task_document AS d WHERE id = ? AND task IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = d.task)
    AND NOT EXISTS (SELECT 1 FROM task_document x WHERE x.root = d.id AND x.id <> d.id)`,
} as const;

import { countOf, type DocumentRow, documentOf } from '../../../rows/document-rows.ts';
import type {
  DocumentAnswer,
  DocumentCount,
  DocumentFilter,
  DocumentQuery,
  DocumentRecord,
  DocumentWrite,
} from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { pushGraph } from './graph.ts';

/** Everything that could refuse the write is checked before anything is written. */
export function writeDocuments(tx: Transaction, write: DocumentWrite): DocumentAnswer {
  const { root, version, add = [], change = [], remove = [], push } = write;
  const { now } = tx;
  const seen = tx.sql.get('documentVersion').get(root) as { version: number; root: string } | undefined;
  if (version === 0 && seen !== undefined) return { ok: false, why: 'taken', id: root };
  if (version > 0 && (seen?.version !== version || seen.root !== root)) return { ok: false, why: 'stale' };
  const taken = add.find(({ id }) => tx.sql.get('documentVersion').get(id) !== undefined);
  if (taken !== undefined) return { ok: false, why: 'taken', id: taken.id };
  const answer = push === undefined ? undefined : pushGraph(tx, push.items);
  if (answer?.ok === false) return { ok: false, why: 'push', answer };
  for (const { id, parent, user, shows, body, task } of add) {
    tx.sql.get('documentAdd').run(id, root, parent ?? null, user ?? null, shows ?? null, body, task ?? null, now, now);
  }
  for (const { id, parent, user, dropped, body } of change) {
    tx.sql.get('documentChange').run(parent ?? null, user ?? null, dropped ? 1 : 0, body, now, id, root);
  }
  for (const id of remove) tx.sql.get('documentRemove').run(id, root);
  const tasks = answer?.tasks ?? [];
  for (const [i, { task }] of tasks.entries()) {
    tx.sql.get('documentRun').run(task, now, push?.documents[i] ?? '', root);
  }
  // Once, whatever was done to the root itself: other writers compare this version.
  if (version > 0) tx.sql.get('documentGrow').run(version + 1, now, root);
  return { ok: true, tasks };
}

export function getDocument(sql: Prepared, id: string): DocumentRecord | undefined {
  const row = sql.get('documentGet').get(id) as DocumentRow | undefined;
  return row && documentOf(row);
}

export function documentOfTask(sql: Prepared, task: number): DocumentRecord | undefined {
  const row = sql.get('documentOf').get(task) as DocumentRow | undefined;
  return row && documentOf(row);
}

export function listTree(sql: Prepared, root: string): readonly DocumentRecord[] {
  return (sql.get('documentTree').all(root) as unknown as DocumentRow[]).map(documentOf);
}

export function listDocuments(sql: Prepared, query: DocumentQuery): readonly DocumentRecord[] {
  const { user, roots, before = Number.MAX_SAFE_INTEGER, limit } = query;
  const rows =
    user === undefined
      ? sql.get('documentList').all(roots ? 1 : 0, before, limit)
      : sql.get('documentListUser').all(roots ? 1 : 0, before, limit, user);
  return (rows as unknown as DocumentRow[]).map(documentOf);
}

export function countDocuments(sql: Prepared, { user, roots }: DocumentFilter): DocumentCount {
  return countOf(sql.rows('documentCount').get(roots ? 1 : 0, user ?? null) as unknown as readonly number[]);
}

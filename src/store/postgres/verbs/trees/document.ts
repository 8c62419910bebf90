import { countOf, type DocumentRow, documentOf } from '../../../rows/document-rows.ts';
import type {
  DocumentAnswer,
  DocumentCount,
  DocumentFilter,
  DocumentQuery,
  DocumentRecord,
  DocumentWrite,
} from '../../../store.ts';
import { booleans, numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';
import type { AllocatedIds } from '../queue/push.ts';
import { pushGraph } from './graph.ts';

/** In a transaction. Writers of one tree take turns: the row of its root is locked before anything else is read. */
export function writeDocuments(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  write: DocumentWrite,
  allocated: AllocatedIds,
): Promise<DocumentAnswer> {
  return once(session, 'document', flushId, async () => {
    await session.raw('SAVEPOINT document');
    const answer = await apply(session, parts, flushId, write, allocated);
    if (!answer.ok) await session.raw('ROLLBACK TO SAVEPOINT document');
    return answer;
  });
}

async function apply(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  { root, version, add = [], change = [], remove = [], push }: DocumentWrite,
  allocated: AllocatedIds,
): Promise<DocumentAnswer> {
  const [seen] = await session.all<{ version: number; root: string }>('documentLock', [root]);
  if (version === 0 && seen !== undefined) return { ok: false, why: 'taken', id: root };
  if (version > 0 && (seen?.version !== version || seen.root !== root)) return { ok: false, why: 'stale' };
  if (add.length > 0) {
    const added = await session.all<{ id: string }>('documentAdd', [
      root,
      texts(add.map(({ id }) => id)),
      texts(add.map(({ parent }) => parent)),
      texts(add.map(({ user }) => user)),
      texts(add.map(({ shows }) => shows)),
      texts(add.map(({ body }) => body)),
      numbers(add.map(({ task }) => task)),
    ]);
    const known = new Set(added.map(({ id }) => id));
    const taken = add.find(({ id }) => !known.has(id));
    if (taken !== undefined) return { ok: false, why: 'taken', id: taken.id };
  }
  const answer = push === undefined ? undefined : await pushGraph(session, parts, flushId, push.items, allocated);
  if (answer?.ok === false) return { ok: false, why: 'push', answer };
  if (change.length > 0) {
    await session.rows('documentChange', [
      root,
      texts(change.map(({ id }) => id)),
      texts(change.map(({ parent }) => parent)),
      texts(change.map(({ user }) => user)),
      booleans(change.map(({ dropped }) => dropped)),
      texts(change.map(({ body }) => body)),
    ]);
  }
  if (remove.length > 0) await session.rows('documentRemove', [root, texts(remove)]);
  const tasks = answer?.tasks ?? [];
  if (tasks.length > 0) {
    await session.rows('documentRun', [root, texts(push?.documents ?? []), numbers(tasks.map(({ task }) => task))]);
  }
  // Once, whatever was done to the root itself: other writers compare this version.
  if (version > 0) await session.rows('documentGrow', [root, version + 1]);
  return { ok: true, tasks };
}

export async function getDocuments(
  session: Session,
  ids: readonly string[],
): Promise<readonly (DocumentRecord | undefined)[]> {
  const rows = await session.all<DocumentRow>('documentGet', [texts([...new Set(ids)])]);
  const found = new Map(rows.map((row) => [row.id, documentOf(row)]));
  return ids.map((id) => found.get(id));
}

export async function documentsOfTasks(
  session: Session,
  tasks: readonly number[],
): Promise<readonly (DocumentRecord | undefined)[]> {
  const rows = await session.all<DocumentRow>('documentOf', [numbers([...new Set(tasks)])]);
  const found = new Map(rows.map((row) => [row.task, documentOf(row)]));
  return tasks.map((task) => found.get(task));
}

export async function listTree(session: Session, root: string): Promise<readonly DocumentRecord[]> {
  return (await session.all<DocumentRow>('documentTree', [root])).map(documentOf);
}

export async function listDocuments(session: Session, query: DocumentQuery): Promise<readonly DocumentRecord[]> {
  const { user, roots, before = Number.MAX_SAFE_INTEGER, limit } = query;
  const rows = await (user === undefined
    ? session.all<DocumentRow>('documentList', [roots, before, limit])
    : session.all<DocumentRow>('documentListUser', [roots, before, limit, user]));
  return rows.map(documentOf);
}

export async function countDocuments(session: Session, { user, roots }: DocumentFilter): Promise<DocumentCount> {
  const [row] = await session.rows('documentCount', [roots, user ?? null]);
  return countOf(row as readonly number[]);
}

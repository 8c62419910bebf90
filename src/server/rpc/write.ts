import { queueOf } from '../../engine/trees/document-body.ts';
import { countByQueue, type Document, type DocumentDraft } from '../../engine/trees/documents.ts';
import type { RpcCall, RpcHandlers } from './context.ts';
import { draftsOf, editOf } from './drafts.ts';
import { idOf } from './task-names.ts';
import { nest, type TaskView, viewAll, viewOne } from './view.ts';

export const writeMethods: RpcHandlers<'tasks.create' | 'tasks.update' | 'tasks.delete'> = {
  async 'tasks.create'(call) {
    const { params } = call;
    const many = Array.isArray(params) ? params : 'tasks' in params ? params.tasks : undefined;
    const created = await create(call, Array.isArray(many) ? many : [params]);
    return nested(call, created);
  },

  async 'tasks.update'({ engine, params }) {
    const { task_id, id, version, ...given } = params;
    const name = idOf({ task_id, id });
    const edited = await engine.documents.edit(name, ({ body }) => ({ ...editOf(body, given), version }));
    return viewOne(engine, edited);
  },

  async 'tasks.delete'({ engine, params }) {
    const deleted = await engine.documents.remove(idOf(params));
    return { success: true, deleted_count: deleted.length, deleted };
  },
};

export async function create(
  call: Pick<RpcCall, 'engine' | 'admit'>,
  given: readonly unknown[],
): Promise<readonly Document[]> {
  return write(call, draftsOf(given));
}

/** Every new document comes into the store this way. */
export async function write(
  { engine, admit }: Pick<RpcCall, 'engine' | 'admit'>,
  drafts: readonly DocumentDraft[],
): Promise<readonly Document[]> {
  await admit(countByQueue(drafts.map(({ body }) => ({ queue: queueOf(body) }))));
  return engine.documents.create(drafts);
}

/** The created documents as trees: one, or several where they are branches of another tree. */
export async function nested(
  { engine }: Pick<RpcCall, 'engine'>,
  created: readonly Document[],
): Promise<TaskView | readonly TaskView[]> {
  const views = await viewAll(engine, created);
  const own = new Set(created.map(({ id }) => id));
  const tops = created.filter(({ parent }) => parent === undefined || !own.has(parent));
  const trees = tops.flatMap(({ id }) => nest(views, id) ?? []);
  return trees.length === 1 ? (trees[0] as TaskView) : trees;
}

import type { TaskRecord } from '../../engine/records.ts';
import type { Document } from '../../engine/trees/documents.ts';
import type { RpcCall, RpcHandlers } from './context.ts';
import { holdersOf, NOBODY } from './holders.ts';
import { type TaskView, viewAll } from './view.ts';

type Running = 'tasks.running.list' | 'tasks.running.status' | 'tasks.running.count';

/** Records in one read; each may be a megabyte. */
const PAGE = 20;
/** Tasks that run and are looked at in one call, also those that are no documents. */
const MOST_ROWS = 20_000;

/** What the nodes have now. */
export const runningMethods: RpcHandlers<Running> = {
  async 'tasks.running.list'(call) {
    const { engine } = call;
    const found = await running(call);
    const holders = await holdersOf(
      engine,
      found.map(({ record }) => record),
    );
    const views = await viewAll(
      engine,
      found.map(({ document }) => document),
    );
    const byId = new Map(found.map(({ document }, i) => [document.id, holders[i]]));
    return views.map((view) => ({ ...view, ...byId.get(view.id) }));
  },

  async 'tasks.running.status'({ engine, params }) {
    const found = await engine.documents.getMany(params.task_ids);
    const documents = found.filter((document) => document !== undefined);
    const views = new Map((await viewAll(engine, documents)).map((view) => [view.id, view]));
    const records = await engine.store.taskGet({ tasks: documents.flatMap(({ task }) => task ?? []) });
    const known = records.filter((record) => record !== undefined);
    const holders = await holdersOf(engine, known);
    const byTask = new Map(known.map(({ task }, i) => [task, holders[i]]));
    return params.task_ids.map((id, i) => standing(id, views.get(id), byTask.get(found[i]?.task ?? 0) ?? NOBODY));
  },

  async 'tasks.running.count'({ engine, params }) {
    const { user_id: user, root_only: roots } = params;
    const { states } = await engine.documents.count({ roots, ...(user ? { user } : {}) });
    return { count: states.running, ...(user ? { user_id: user } : {}) };
  },
};

interface RunningDocument {
  readonly document: Document;
  readonly record: TaskRecord;
}

/** Found by their tasks: few tasks run, however many documents there are. */
async function running({ engine, params }: RpcCall<'tasks.running.list'>): Promise<readonly RunningDocument[]> {
  const { user_id: user, root_only: roots, limit, offset } = params;
  const found: RunningDocument[] = [];
  for (let before: number | undefined, rows = 0; rows < MOST_ROWS; rows += PAGE) {
    const records = await engine.list({
      states: ['running'],
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    });
    const documents = await engine.documents.of(records.map(({ task }) => task));
    for (const [i, record] of records.entries()) {
      const document = documents[i];
      if (document?.state !== 'running' || (roots && document.parent !== undefined)) continue;
      if (!user || document.user === user) found.push({ document, record });
    }
    before = records.at(-1)?.task;
    if (records.length < PAGE || found.length >= offset + limit) break;
  }
  return found.slice(offset, offset + limit);
}

function standing(id: string, view: TaskView | undefined, holder: object): object {
  return {
    task_id: id,
    context_id: id,
    status: view?.status ?? 'not_found',
    progress: view?.['progress'] ?? 0,
    error: view?.['error'] ?? null,
    is_running: view?.['state'] === 'running',
    started_at: view?.['started_at'] ?? null,
    updated_at: view?.['updated_at'] ?? null,
    ...holder,
  };
}

import { fault } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TaskRecord } from '../../engine/records.ts';
import type { Document } from '../../engine/trees/documents.ts';
import { viewAttempts } from '../../operate/views.ts';
import type { RpcCall, RpcHandlers } from './context.ts';
import { holdersOf, NOBODY } from './holders.ts';
import { idOf } from './task-names.ts';
import { nest, statusOf, time, viewAll, viewOne } from './view.ts';

type Read = 'tasks.get' | 'tasks.detail' | 'tasks.tree' | 'tasks.list' | 'tasks.children' | 'tasks.count';

/** Rows in one read, and in all reads of a list that is filtered by status. */
const PAGE = 200;
const MOST_ROWS = 20_000;

export const readMethods: RpcHandlers<Read> = {
  async 'tasks.get'({ engine, params }) {
    return viewOne(engine, await engine.documents.get(idOf(params)));
  },

  async 'tasks.detail'({ engine, params }) {
    const id = idOf(params);
    const document = await engine.documents.get(id);
    const has_children = (await engine.documents.tree(id)).some(({ parent }) => parent === id);
    const view = { ...(await viewOne(engine, document)), has_children };
    if (document.task === undefined) return { ...view, ...NOBODY, attempts: [], explanation: null };
    const record = await engine.get(document.task);
    const [holder = NOBODY] = record === undefined ? [] : await holdersOf(engine, [record]);
    const explanation = record === undefined || isFinal(record.state) ? null : await engine.explain(document.task);
    return {
      ...view,
      ...holder,
      attempts: record === undefined ? [] : await attemptsOf(engine, record),
      explanation,
    };
  },

  async 'tasks.tree'({ engine, params }) {
    const tree = await engine.documents.tree(idOf(params));
    const [first] = tree;
    const nested = first && nest(await viewAll(engine, tree), first.root);
    if (nested === undefined) throw fault('NOT_FOUND', { kind: 'task', id: first?.root });
    return nested;
  },

  async 'tasks.list'(call) {
    return viewAll(call.engine, await listed(call));
  },

  async 'tasks.children'({ engine, params }) {
    const { parent_id, ...named } = params;
    const id = parent_id ?? idOf(named);
    const tree = await engine.documents.tree(id);
    return viewAll(
      engine,
      tree.filter(({ parent }) => parent === id),
    );
  },

  async 'tasks.count'({ engine, params }) {
    const { user_id: user, root_only: roots } = params;
    const { fresh, dropped, parked, states } = await engine.documents.count({ roots, ...(user ? { user } : {}) });
    const { completed, failed, cancelled, ready, running, scheduled, waiting } = states;
    const counts = {
      pending: fresh + ready + scheduled + waiting - parked,
      in_progress: running + parked,
      completed,
      failed,
      cancelled: cancelled + dropped,
    };
    return { total: Object.values(counts).reduce((sum, count) => sum + count, 0), ...counts };
  },
};

/** Every attempt, also the one that runs or has ended the task, with the node or worker that had it. */
async function attemptsOf(engine: Engine, record: TaskRecord): Promise<readonly object[]> {
  const { task } = record;
  const attempts = viewAttempts(record, await engine.attempts(task), { workerName: String });
  const had = await engine.store.attemptWorkers({ items: attempts.map(({ attempt }) => ({ task, attempt })) });
  return attempts.map(({ attempt, startedAt, endedAt, outcome, error = null }, i) => ({
    attempt,
    node_id: had[i]?.name ?? null,
    host: had[i]?.host ?? null,
    started_at: time(startedAt),
    ended_at: time(endedAt),
    outcome,
    error,
  }));
}

/** Newest first; documents of another status are skipped. */
async function listed({ engine, params }: RpcCall<'tasks.list'>): Promise<readonly Document[]> {
  const { user_id: user, status, root_only: roots, limit, offset } = params;
  const found: Document[] = [];
  // No more at once than are wanted: each may be a megabyte.
  const size = status ? PAGE : Math.min(PAGE, offset + limit);
  for (let before: number | undefined, rows = 0; rows < MOST_ROWS; rows += size) {
    const { documents, next } = await engine.documents.page({
      roots,
      limit: size,
      ...(user ? { user } : {}),
      ...(before === undefined ? {} : { before }),
    });
    found.push(...documents.filter((one) => (status ?? undefined) === undefined || statusOf(one) === status));
    if (next === undefined || found.length >= offset + limit) break;
    before = next;
  }
  return found.slice(offset, offset + limit);
}

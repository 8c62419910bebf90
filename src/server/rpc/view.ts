import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TaskRecord } from '../../engine/records.ts';
import type { Document } from '../../engine/trees/documents.ts';
import type { Status } from '../../protocol/rpc/methods.ts';

export interface TaskView extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly status: Status;
}

/** Records in one read; each comes with its input and result. */
const PAGE = 20;
/** The bound of one answer, in characters. */
export const MAX_ANSWER = 16 * 1024 * 1024;
/** The longest chain of failures that is followed. */
const MAX_CHAIN = 1000;

/** Documents as callers see them, in order. Documents whose task is no longer kept are left out. */
export async function viewAll(engine: Engine, documents: readonly Document[]): Promise<readonly TaskView[]> {
  const views: TaskView[] = [];
  let size = 0;
  for (let from = 0; from < documents.length; from += PAGE) {
    const page = documents.slice(from, from + PAGE);
    const tasks = await tasksOf(engine, page);
    const records = await engine.store.taskGet({ tasks: tasks.flatMap((task) => task ?? []) });
    const known = new Map(records.flatMap((record) => (record === undefined ? [] : [[record.task, record] as const])));
    for (const [i, document] of page.entries()) {
      const record = known.get(tasks[i] ?? 0);
      if (record === undefined && tasks[i] !== undefined) continue;
      views.push(view(engine, document, record, await causeOf(engine, document, record)));
      size += (record?.payload.length ?? 0) + 2 * (record?.result?.length ?? 0);
      if (size > MAX_ANSWER) throw fault('TOO_LARGE', { field: 'answer', maxBytes: MAX_ANSWER });
    }
  }
  return views;
}

export async function viewOne(engine: Engine, document: Document): Promise<TaskView> {
  const [one] = await viewAll(engine, [document]);
  if (one === undefined) throw fault('NOT_FOUND', { kind: 'task', id: document.id });
  return one;
}

/** The views as a tree. */
export function nest(views: readonly TaskView[], top: string): TaskView | undefined {
  const children = Map.groupBy(views, ({ parent_id }) => parent_id);
  const root = views.find(({ id }) => id === top);
  const grow = (one: TaskView): TaskView => {
    const below = children.get(one.id) ?? [];
    return { ...one, has_children: below.length > 0, children: below.map(grow) };
  };
  return root && grow(root);
}

/** The task whose state each document shows: its own, or that of the document that it links to. */
async function tasksOf(engine: Engine, documents: readonly Document[]): Promise<readonly (number | undefined)[]> {
  const links = documents.flatMap(({ shows }) => shows ?? []);
  if (links.length === 0) return documents.map(({ task }) => task);
  const originals = await engine.documents.getMany(links);
  const tasks = new Map(originals.flatMap((one) => (one === undefined ? [] : [[one.id, one.task] as const])));
  return documents.map(({ shows, task }) => (shows === undefined ? task : (tasks.get(shows) ?? 0)));
}

/** What lies in a queue is pending, also again: after its lease has expired, or until its next try. What has begun and waits for something is in progress. */
export function statusOf({ status, state, attempt = 0 }: Pick<Document, 'status' | 'state' | 'attempt'>): Status {
  if (status === 'new') return 'pending';
  if (status === 'dropped') return 'cancelled';
  const shown = status === 'fixed' ? state : status;
  if (shown === 'completed' || shown === 'failed' || shown === 'cancelled') return shown;
  return shown === 'running' || (shown === 'waiting' && attempt > 0) ? 'in_progress' : 'pending';
}

function view(engine: Engine, document: Document, record: TaskRecord | undefined, cause: string | undefined): TaskView {
  const { body } = document;
  const status = statusOf(document);
  const outcome = record?.result === undefined ? null : (JSON.parse(record.result) as unknown);
  return {
    id: document.id,
    parent_id: document.parent ?? null,
    task_tree_id: document.root,
    user_id: document.user ?? null,
    name: body.name,
    status,
    priority: body.priority,
    dependencies: body.dependencies,
    inputs: body.inputs,
    params: body.params ?? null,
    schemas: body.schemas ?? null,
    placement_constraints: body.constraints ?? null,
    ...(body.idempotencyKey === undefined ? {} : { idempotency_key: body.idempotencyKey }),
    result: status === 'completed' ? outcome : null,
    error: status === 'failed' ? errorText(outcome, cause) : null,
    ...(cause === undefined ? {} : { skipped: true, cause }),
    progress: status === 'completed' ? 1 : 0,
    created_at: time(document.createdAt),
    updated_at: time(record?.finishedAt ?? record?.startedAt ?? document.updatedAt),
    started_at: time(record?.startedAt),
    completed_at: time(record?.finishedAt),
    origin_type: body.origin?.type ?? 'create',
    original_task_id: body.origin?.id ?? null,
    version: document.version,
    execution: document.run,
    ...(record === undefined
      ? {}
      : { state: record.state, attempt_id: record.attempt, engine_task_id: engine.idOf(record) }),
  };
}

export function time(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function errorText(outcome: unknown, cause: string | undefined): string {
  if (cause !== undefined) return `skipped: the task ${cause}, which it depends on, did not complete`;
  const { message } = (outcome ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' ? message : JSON.stringify(outcome);
}

/** The document whose end kept this one from running: the first of a chain, which ran itself or was cancelled. */
async function causeOf(
  engine: Engine,
  document: Document,
  record: TaskRecord | undefined,
): Promise<string | undefined> {
  if (record?.reason !== 'dependency') return undefined;
  let at = document;
  for (let i = 0; i < MAX_CHAIN; i++) {
    const needs = at.body.dependencies.filter(({ required }) => required).map(({ id }) => id);
    const ups = await engine.documents.getMany(needs);
    const up = ups.find((one) => one !== undefined && statusOf(one) !== 'completed');
    if (up === undefined) return at === document ? (needs[0] ?? document.id) : at.id;
    const [its] = up.task === undefined ? [] : await engine.store.taskGet({ tasks: [up.task] });
    if (its?.reason !== 'dependency') return up.id;
    at = up;
  }
  return at.id;
}

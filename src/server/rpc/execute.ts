import { isEngineError } from '../../core/errors.ts';
import { subtreeOf } from '../../core/graph/document.ts';
import { handlerOf } from '../../engine/trees/document-body.ts';
import type { Document, Execution } from '../../engine/trees/documents.ts';
import { EventStream } from '../http/answers.ts';
import type { RpcCall, RpcHandlers } from './context.ts';
import { problemOf, RpcProblem } from './problems.ts';
import { followExecution } from './stream.ts';
import { idOf } from './task-names.ts';
import { statusOf } from './view.ts';
import { deliveriesOf } from './webhook.ts';
import { create } from './write.ts';

type Method = 'tasks.execute' | 'tasks.cancel' | 'tasks.running.cancel';

export const executeMethods: RpcHandlers<Method> = {
  async 'tasks.execute'(call) {
    const { engine, params, broadcaster, webhooks } = call;
    refuseUnbuilt(call);
    const id = await rootOf(call);
    // Read before anything starts, so that no event is missed.
    const { use_streaming: streams, webhook_config: webhook } = params;
    const after = streams || webhook ? await broadcaster.now() : 0;
    const before = await engine.documents.get(id);
    const execution = await engine.documents.execute(id, {
      admit: call.admit,
      ...(webhook ? deliveriesOf(webhook) : {}),
    });
    const answer = await started(call, id, execution);
    const follow = { engine, broadcaster, execution, after, id, answer };
    const told = !webhook || webhooks.begin(webhook, before, follow);
    if (!streams) return told ? answer : { ...answer, warnings: [...(answer.warnings ?? []), TOO_MANY] };
    return new EventStream((signal) => followExecution(follow, signal));
  },

  async 'tasks.cancel'(call) {
    const { task_ids: ids, ...named } = call.params;
    return ids === undefined ? cancel(call, idOf(named)) : cancelEach(call, ids);
  },

  'tasks.running.cancel': (call) => cancelEach(call, call.params.task_ids),
};

/** A task that cannot be cancelled reports that, and does not keep the others from it. */
async function cancelEach(call: Pick<RpcCall, 'engine'>, ids: readonly string[]): Promise<readonly object[]> {
  const answers: object[] = [];
  for (const id of ids) {
    answers.push(
      await cancel(call, id).catch((error: unknown) => {
        if (!isEngineError(error) && !(error instanceof RpcProblem)) throw error;
        return { task_id: id, status: 'failed', error: problemOf(error) };
      }),
    );
  }
  return answers;
}

/** Of webhooks. */
const TOO_MANY = 'too many executions are told of as they go: starts and progress of this one are not, its ends are';

function refuseUnbuilt({ params, alone }: RpcCall<'tasks.execute'>): void {
  if (params.use_demo) throw new RpcProblem('params', 'use_demo is not supported: handlers are always run');
  if (params.use_streaming && !alone) {
    throw new RpcProblem('params', 'use_streaming is for a call that is alone in its request, and has an id');
  }
}

/** The root of the tasks in the call, or of the task that it names. */
async function rootOf(call: RpcCall<'tasks.execute'>): Promise<string> {
  const { tasks, ...named } = call.params;
  if (tasks === undefined) return idOf(named);
  if (named.task_id !== undefined || named.id !== undefined) {
    throw new RpcProblem('params', 'it names an existing task, or has tasks of its own, not both');
  }
  const created = await create(call, tasks);
  const own = new Set(created.map(({ id }) => id));
  return created.find(({ parent }) => parent === undefined || !own.has(parent))?.id as string;
}

async function started(
  { engine, params }: RpcCall<'tasks.execute'>,
  id: string,
  execution: Execution,
): Promise<{ readonly warnings?: readonly string[]; readonly [field: string]: unknown }> {
  const { root } = await engine.documents.get(id);
  const warnings = await warningsOf({ engine }, execution, params.webhook_config ? ['http'] : []);
  return {
    success: true,
    protocol: 'jsonrpc',
    root_task_id: root,
    task_id: id,
    status: 'started',
    ...(params.use_streaming ? { streaming: true } : {}),
    tasks: execution.map(({ document, pushed }) => ({ id: document.id, engine_task_id: pushed.id })),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

/** Handlers that no worker offers now; one may come. */
async function warningsOf(
  { engine }: Pick<RpcCall, 'engine'>,
  execution: Execution,
  besides: readonly string[],
): Promise<readonly string[]> {
  const { members } = await engine.store.workerFleet();
  const offered = new Set(members.flatMap(({ handlers }) => handlers));
  const wanted = new Set([...execution.map(({ document }) => handlerOf(document.body)), ...besides]);
  const any = members.some(({ handlers }) => handlers.length === 0);
  const missing = any ? [] : [...wanted].filter((handler) => !offered.has(handler));
  return missing.map((handler) => `no worker that is online runs ${handler}`);
}

/** In these, a document has no task that could be cancelled. */
const NOT_EXECUTING: ReadonlySet<Document['status']> = new Set([
  'new',
  'dropped',
  'fixed',
  'completed',
  'failed',
  'cancelled',
]);

/** Cancels the task and all below it, from above: a child that ends first would let its parent begin. */
async function cancel({ engine }: Pick<RpcCall, 'engine'>, id: string): Promise<object> {
  const tree = await engine.documents.tree(id);
  const nodes = tree.map((one) => ({ ...one, dependencies: one.body.dependencies }));
  const own: readonly Document[] = subtreeOf(nodes, id);
  const fresh = await engine.documents.drop(own.filter((one) => one.status === 'new').map((one) => one.id));
  const cancelled = [...fresh];
  const requested: string[] = [];
  for (const one of own) {
    if (NOT_EXECUTING.has(one.status)) continue;
    const answer = await engine.cancel(one.task as number);
    if (answer === 'cancelled') cancelled.push(one.id);
    if (answer === 'requested') requested.push(one.id);
  }
  if (cancelled.length + requested.length === 0) {
    const [first] = own;
    const status = first === undefined ? 'gone' : first.status === 'fixed' ? 'fixed' : statusOf(first);
    throw new RpcProblem('transition', `the task ${id} is ${status}`);
  }
  return {
    task_id: id,
    status: requested.length === 0 ? 'cancelled' : 'cancelling',
    cancelled,
    requested,
  };
}

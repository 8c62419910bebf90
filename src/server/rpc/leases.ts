import { fault, isEngineError } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Refusal } from '../../engine/claim/acquire.ts';
import { keyOfWork } from '../../engine/trees/document-body.ts';
import type { RpcErrorKind } from '../../protocol/rpc/envelope.ts';
import type { RpcCall, RpcHandlers } from './context.ts';
import { type NodeLease, readLease, writeLease } from './lease-text.ts';
import { requireNode, requireOwn } from './nodes.ts';
import { RpcProblem } from './problems.ts';
import { type NamedTask, taskNamed } from './task-names.ts';

type Leased = 'acquire_lease' | 'renew_lease' | 'release_lease' | 'report_completion' | 'recover_stale_leases';

/** Leases of apflow. Each is named by a token, and every write is fenced by the attempt in it. */
export const leaseMethods: RpcHandlers<Leased> = {
  async acquire_lease(call) {
    const { engine, params, leases, principal } = call;
    const { worker } = await requireNode(call, params.node_id);
    const { task, document } = await taskNamed(engine, params.task_id);
    await requireGranted(call, task);
    const acquired = await engine.acquire(task, worker, { token: principal.token });
    if (!acquired.ok) throw refused(params.task_id, acquired.why, acquired.reasons);
    const { grant } = acquired;
    const own = engine.idOf(grant);
    const { id = own, run = 1, body } = document ?? {};
    const record = await engine.get(task);
    const kept = (await engine.reuses(grant.spec)) ? await engine.keptResult(grant) : undefined;
    return {
      lease_token: writeLease(leases, { task, attempt: grant.attempt, node: params.node_id }),
      attempt: grant.attempt,
      ttl: engine.leaseMs / 1000,
      id,
      task_id: id,
      engine_task_id: own,
      method: grant.handler,
      inputs: JSON.parse(grant.payload) as unknown,
      ...(body?.params === undefined ? {} : { params: body.params }),
      ...(body?.schemas === undefined ? {} : { schemas: body.schemas }),
      idempotency_key: keyOfWork({ body, id, run }, record?.payload ?? grant.payload),
      // Work with the same key has this result: report it instead of doing it again.
      ...(kept === undefined ? {} : { cached: { result: JSON.parse(kept.value ?? 'null') as unknown } }),
    };
  },

  async renew_lease({ engine, params, leases, principal }) {
    const lease = requireLease(leases, params.lease_token);
    requireOwn(principal, lease.node);
    const answer = await engine.renew(lease);
    if (!answer.held) throw lost(lease);
    return { renewed: true, ttl: engine.leaseMs / 1000, cancel_requested: answer.cancelRequested };
  },

  /** A wrong token has no effect, and neither has the token of a lost lease. */
  async release_lease({ engine, params, leases, principal }) {
    const lease = readLease(leases, params.lease_token);
    if (lease === undefined) return { released: false };
    requireOwn(principal, lease.node);
    if ((await taskNamed(engine, params.task_id)).task !== lease.task) return { released: false };
    try {
      await engine.release({ task: lease.task, attempt: lease.attempt });
      return { released: true };
    } catch (error) {
      if (isEngineError(error, 'LEASE_LOST')) return { released: false };
      throw error;
    }
  },

  async report_completion(call) {
    const { engine, params, leases, principal } = call;
    const { task_id: id, error } = params;
    requireOwn(principal, params.node_id);
    const lease = requireLease(leases, params.lease_token);
    if (lease.node !== params.node_id) throw lost(lease);
    const named = await taskNamed(engine, id);
    if (named.task !== lease.task) throw lost(lease);
    await requireKey(call, named, id);
    const { task, attempt } = lease;
    if (error === undefined || error === null) await complete(call, lease);
    else {
      const failure = typeof error === 'string' ? { message: error } : error;
      await engine.fail({ task, attempt }, failure, { giveUp: !params.retryable });
    }
    return outcome(call, lease, id);
  },

  async recover_stale_leases({ engine, recover }) {
    const { recovered, overdue } = await recover();
    const records = await engine.store.taskGet({ tasks: recovered });
    const documents = await engine.documents.of(recovered);
    const ids = records.map((record, i) => documents[i]?.id ?? (record && engine.idOf(record)));
    return { recovered: ids.filter((id) => id !== undefined), overdue };
  },
};

/** A worker leases what was granted to its name, also where it registered before that changed. */
async function requireGranted(
  { engine, params, principal, settingOf }: RpcCall<'acquire_lease'>,
  task: number,
): Promise<void> {
  if (principal.role !== 'worker') return;
  const { handlers, queues } = (await settingOf(params.node_id)).grant;
  const record = await engine.get(task);
  if (record === undefined) return;
  const isGranted = (handlers?.includes(record.handler) ?? true) && (queues?.includes(record.queue) ?? true);
  if (!isGranted) throw fault('NOT_FOUND', { kind: 'task', id: params.task_id });
}

function requireLease(leases: RpcCall['leases'], text: string): NodeLease {
  const lease = readLease(leases, text);
  if (lease === undefined) throw fault('LEASE_LOST', {}, { hint: 'The token was never granted for a lease.' });
  return lease;
}

function lost({ task, attempt }: NodeLease): Error {
  return fault('LEASE_LOST', { task, attempt });
}

/** Refuses the result of other work. */
async function requireKey(
  { engine, params }: RpcCall<'report_completion'>,
  { task, document }: NamedTask,
  name: string,
): Promise<void> {
  const key = params.idempotency_key ?? undefined;
  if (key === undefined) return;
  const record = await engine.get(task);
  if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: name });
  const { id = engine.idOf(record), run = 1, body } = document ?? {};
  if (key === keyOfWork({ body, id, run }, record.payload)) return;
  throw new RpcProblem('params', 'idempotency_key belongs to other work than this task');
}

/** Keeps the result for tasks with the same key before the task ends, so that no crash comes between. */
async function complete({ engine, params }: RpcCall<'report_completion'>, { task, attempt }: NodeLease): Promise<void> {
  const { result } = params;
  const record = await engine.get(task);
  if (record !== undefined && (await engine.reuses(record.spec))) {
    const { spec, handler, payload } = record;
    await engine.keepResult({ task, attempt, spec, handler, payload }, result).catch((error: unknown) => {
      // It may be a repeat; the completion says whether the lease is lost.
      if (!isEngineError(error, 'LEASE_LOST')) throw error;
    });
  }
  await engine.complete({ task, attempt }, result);
}

/** The outcome that counts: for a repeat, the first one. */
async function outcome({ engine }: RpcCall<'report_completion'>, { task }: NodeLease, id: string): Promise<unknown> {
  const record = await engine.get(task);
  const value = record?.result === undefined ? undefined : (JSON.parse(record.result) as unknown);
  const state = record?.state ?? 'completed';
  const status = isFinal(state) ? state : state === 'running' ? 'in_progress' : 'pending';
  return {
    task_id: id,
    accepted: true,
    status,
    ...(state === 'completed' ? { result: value ?? null } : {}),
    ...(state === 'failed' ? { error: value ?? null } : {}),
  };
}

const KINDS: Readonly<Record<Refusal, RpcErrorKind>> = {
  gone: 'notFound',
  taken: 'running',
  ended: 'transition',
  waits: 'unmet',
  held: 'transition',
  unfit: 'transition',
  lost: 'params',
};

function refused(id: string, why: Refusal, reasons: readonly string[]): Error {
  const missing = why === 'unfit' && reasons.some((reason) => reason.includes('does not offer the handler'));
  return new RpcProblem(missing ? 'executor' : KINDS[why], `the task ${id} is not leased: ${reasons.join(', ')}`, {
    reasons,
  });
}

import { createHash, randomUUID } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import { CALLING_NODE } from '../../core/node.ts';
import type { NameTaker } from '../../core/placement/name-hold.ts';
import { type Capabilities, tagsFromCapabilities } from '../../core/placement/placement-constraints.ts';
import type { Engine } from '../../engine/engine.ts';
import { keyOfWork } from '../../engine/trees/document-body.ts';
import type { Principal } from '../auth/access.ts';
import { requireGiven } from '../workers/given-to-name.ts';
import type { RpcCall, RpcHandlers } from './context.ts';
import { readLease } from './lease-text.ts';

/** Nodes of apflow: workers that find, lease and report tasks by calls of their own. */
export const nodeMethods: RpcHandlers<'register_node' | 'heartbeat' | 'deregister_node' | 'find_executable_tasks'> = {
  async register_node(call) {
    const { engine, params, principal } = call;
    const { node_id: name, executor_types: handlers, max_parallel_tasks: slots, version } = params;
    requireOwn(principal, name);
    const asked = tagsOf(params.capabilities ?? []);
    const joined = principal.role === 'worker';
    if (joined) {
      requireGiven(name, { tags: asked, handlers, slots }, await call.settingOfJoining(name, handlers));
    }
    // A joined one has no tags of its own: it carries what its name was given, as long as that lasts.
    const tags = joined ? [] : asked;
    const fingerprint = hashOf({ handlers, tags, slots, version: version ?? null });
    const before = await findNode(engine, name);
    const same = before?.incarnation.startsWith(`${CALLING_NODE}${fingerprint}:`) === true;
    const register = (takes?: NameTaker): Promise<number> =>
      engine.workers.register({
        name,
        incarnation: same ? before.incarnation : `${CALLING_NODE}${fingerprint}:${randomUUID()}`,
        slots,
        tags,
        handlers,
        told: true,
        ...(version === undefined || version === null ? {} : { version: checkKey('version', version) }),
        takes,
      });
    const worker = joined ? await call.callingNodes.joined(name, register) : await register();
    await engine.workers.beat({ worker, state: 'online' });
    // The former registration ends. Its leases live on by their tokens.
    if (before !== undefined && !same) await engine.workers.beat({ worker: before.worker, state: 'offline' });
    engine.workers.refresh();
    const { leaseMs } = engine;
    return {
      node_id: name,
      status: 'healthy',
      registered: !same,
      heartbeat_interval_seconds: Math.min(HEARTBEAT_MS, leaseMs / 3) / 1000,
      lease_duration_seconds: leaseMs / 1000,
    };
  },

  async heartbeat(call) {
    const { engine, params, leases: tokens, principal } = call;
    const { worker } = await requireNode(call, params.node_id);
    await engine.workers.beat({ worker, state: 'online' });
    const held = params.leases.map(({ lease_token: text }) => {
      const lease = readLease(tokens, text);
      return { text, lease: lease?.node === params.node_id ? lease : undefined };
    });
    const became = await Promise.all(
      held.map(async ({ text, lease }) => {
        const answer = lease === undefined ? undefined : await engine.renew(lease);
        const what = answer?.held === true ? (answer.cancelRequested ? 'cancel' : 'renewed') : 'lost';
        return { lease_token: text, what };
      }),
    );
    const those = (...some: readonly string[]): readonly string[] =>
      became.filter(({ what }) => some.includes(what)).map(({ lease_token }) => lease_token);
    return {
      node_id: params.node_id,
      status: 'healthy',
      renewed: those('renewed', 'cancel'),
      lost: those('lost'),
      cancel: those('cancel'),
      drain: principal.role === 'worker' && !(await call.settingOf(params.node_id)).enabled,
    };
  },

  async deregister_node({ engine, params, principal, callingNodes }) {
    requireOwn(principal, params.node_id);
    callingNodes.left(params.node_id);
    const node = await findNode(engine, params.node_id);
    if (node !== undefined) await engine.workers.beat({ worker: node.worker, state: 'offline' });
    return { node_id: params.node_id, deregistered: node !== undefined };
  },

  async find_executable_tasks(call) {
    const { engine, params, principal } = call;
    const { worker } = await requireNode(call, params.node_id);
    // A registration names no queues, and may be older than the grant.
    const bounds = principal.role === 'worker' ? (await call.settingOf(params.node_id)).grant : {};
    const records = await engine.executable(worker, params.limit, bounds);
    const documents = await engine.documents.of(records.map(({ task }) => task));
    return records.map((record, i) => {
      const document = documents[i];
      const own = engine.idOf(record);
      const { id = own, run = 1, body } = document ?? {};
      return {
        id,
        task_id: id,
        engine_task_id: own,
        name: body?.name ?? record.handler,
        method: record.handler,
        queue: record.queue,
        priority: body?.priority ?? null,
        attempt: record.attempt,
        idempotency_key: keyOfWork({ body, id, run }, record.payload),
      };
    });
  },
};

const HEARTBEAT_MS = 10_000;

export interface KnownNode {
  readonly worker: number;
  readonly incarnation: string;
}

/** The newest registration of this name that is online, on whichever node it was made. */
export async function findNode(engine: Engine, name: string): Promise<KnownNode | undefined> {
  return newest((await engine.store.workerFleet()).members, name);
}

/** A node that fell silent and calls again is online again. */
export async function requireNode(
  { engine, principal, callingNodes }: Pick<RpcCall, 'engine' | 'principal' | 'callingNodes'>,
  name: string,
): Promise<KnownNode> {
  requireOwn(principal, name);
  const online = await findNode(engine, name);
  const node = online ?? (await findSilent(engine, name));
  if (node !== undefined && principal.role === 'worker') {
    const { incarnation } = node;
    await callingNodes.heard(name, (takes) => engine.workers.register({ name, incarnation, slots: 1, takes }));
  }
  if (online !== undefined) return online;
  if (node !== undefined && (await engine.workers.beat({ worker: node.worker, state: 'online' }))) return node;
  throw fault('NOT_FOUND', { kind: 'node', id: name }, { hint: 'Call register_node first.' });
}

async function findSilent(engine: Engine, name: string): Promise<KnownNode | undefined> {
  const workers = await engine.workers.list();
  return newest(
    workers.filter(({ state }) => state === 'lost'),
    name,
  );
}

function newest(workers: readonly (KnownNode & { readonly name: string })[], name: string): KnownNode | undefined {
  return workers
    .filter((worker) => worker.name === name && worker.incarnation.startsWith(CALLING_NODE))
    .sort((a, b) => b.worker - a.worker)[0];
}

/** The secret of a worker is valid for its own name only. */
export function requireOwn({ role, name }: Principal, node: string): void {
  if (role !== 'worker' || name === node) return;
  throw fault('FORBIDDEN', { problem: `this secret is that of the worker ${name}, not of ${node}` });
}

function tagsOf(capabilities: readonly string[] | Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(capabilities)
    ? capabilities.map((tag) => checkKey('capabilities', tag))
    : tagsFromCapabilities(capabilities as Capabilities);
}

/** A fingerprint of the registration: the same one again changes nothing. */
function hashOf(profile: object): string {
  return createHash('sha256').update(JSON.stringify(profile)).digest('hex').slice(0, 32);
}

import { fault } from '../../core/errors.ts';
import { CALLING_NODE, holderName, nodeHealth, type Silence } from '../../core/node.ts';
import { LEADER, leaderOf } from '../../engine/duties/leader.ts';
import type { Engine } from '../../engine/engine.ts';
import type { DutyRecord, NodeRecord, WorkerRecord } from '../../engine/records.ts';
import type { NodeView } from '../views.ts';
import type { Operations } from './operation.ts';

/** The nodes of a store. */
export const clusterOperations = {
  async getCluster({ engine: { store }, silence }) {
    const [{ now, duties }, { now: then, nodes }, calling] = await Promise.all([
      store.dutyList(),
      store.nodeList(),
      callingNodes(store, silence),
    ]);
    const leader = leaderOf(duties, now);
    const leading = nodes.find((node) => leads(node, leader));
    return {
      ...(leader && {
        leader: {
          node: holderName(leader.holder),
          epoch: leader.epoch,
          ...(leading?.stand === 'leader' ? { since: leading.standSince } : {}),
          expiresInMs: leader.until - now,
        },
      }),
      nodes: [
        ...nodes.map((node) => viewOf(node, leader, then, silence)),
        ...calling.filter(({ id }) => !nodes.some((node) => node.id === id)),
      ],
      duties: duties
        .filter(({ name }) => name !== LEADER)
        .map(({ name, holder, epoch, until }) => ({
          name,
          ...(until < now ? {} : { holder: holderName(holder) }),
          epoch,
          expiresInMs: Math.max(0, until - now),
        })),
      store: store.capabilities.name,
    };
  },

  async editNode({ engine: { store }, silence }, { params: { id }, body: { role } }) {
    const known = await store.nodeRole({ id, role });
    const [{ now: at, duties }, { now, nodes }] = await Promise.all([store.dutyList(), store.nodeList()]);
    const node = nodes.find((one) => one.id === id);
    if (known && node !== undefined) return viewOf(node, leaderOf(duties, at), now, silence);
    const hint =
      nodes.length === 0 ? 'No node works on this store.' : `There are ${nodes.map((one) => one.id).join(', ')}.`;
    throw fault('NOT_FOUND', { kind: 'node', id }, { hint });
  },
} satisfies Operations;

/** Those that came by `register_node`, each by its newest registration: silence makes them stale and dead as others. */
async function callingNodes(store: Engine['store'], silence: Silence): Promise<readonly NodeView[]> {
  const workers = await store.workerList();
  const newest = new Map<string, WorkerRecord>();
  for (const worker of workers.toSorted((a, b) => a.worker - b.worker)) {
    if (worker.incarnation.startsWith(CALLING_NODE)) newest.set(worker.name, worker);
  }
  if (newest.size === 0) return [];
  const { now } = await store.workerFleet();
  return [...newest.values()].map(({ name, state, seenAt, startedAt, version }) => {
    const silentMs = Math.max(0, now - seenAt);
    return {
      id: name,
      state: state === 'offline' ? 'left' : nodeHealth(silentMs, silence),
      role: 'worker',
      wish: 'worker',
      override: 'auto',
      ...(version === undefined ? {} : { version }),
      startedAt: startedAt ?? 0,
      silentMs,
      registered: true,
    };
  });
}

function leads({ id, incarnation }: NodeRecord, leader: DutyRecord | undefined): boolean {
  return leader?.holder === `${id}/${incarnation}`;
}

/**
 * Who leads is known by the duty alone, of which there is one. A node that lost it while it could not write still has the role of
 * its last beat in its row, and a new leader has not beaten yet.
 */
function roleOf(node: NodeRecord, leader: DutyRecord | undefined): NodeRecord['stand'] {
  if (leads(node, leader)) return 'leader';
  if (node.stand !== 'leader') return node.stand;
  return node.override === 'observer' ? 'observer' : 'worker';
}

function viewOf(node: NodeRecord, leader: DutyRecord | undefined, now: number, silence: Silence): NodeView {
  const role = roleOf(node, leader);
  const { id, stand, standSince, wish, override, address, version, host, pid, startedAt, beatAt, left } = node;
  const silentMs = Math.max(0, now - beatAt);
  return {
    id,
    state: left ? 'left' : nodeHealth(silentMs, silence),
    role,
    ...(role === stand ? { roleSince: standSince } : {}),
    wish,
    override,
    ...(address === undefined ? {} : { address }),
    ...(version === undefined ? {} : { version }),
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    startedAt,
    silentMs,
  };
}

import { fault } from '../core/errors.ts';
import { DEFAULT_SILENCE, holderName, type NodeOverride, nodeHealth, type Silence } from '../core/node.ts';
import { LEADER, leaderOf } from '../engine/duties/leader.ts';
import type { Engine } from '../engine/engine.ts';
import type { NodeRecord } from '../engine/records.ts';
import type { ClusterView, NodeView } from '../protocol/views.ts';

/** Nodes of a store, for who looks at them from outside. */
export class ClusterDesk {
  readonly #engine: Engine;
  readonly #silence: Silence;

  constructor(engine: Engine, silence = DEFAULT_SILENCE) {
    this.#engine = engine;
    this.#silence = silence;
  }

  /** `silence`: after how much of it a node counts as stale, and as dead. */
  async look(silence = this.#silence): Promise<ClusterView> {
    const { store } = this.#engine;
    const [{ now, duties }, { now: then, nodes }] = await Promise.all([store.dutyList(), store.nodeList()]);
    const leader = leaderOf(duties, now);
    const leading = nodes.find(({ id, incarnation }) => leader?.holder === `${id}/${incarnation}`);
    return {
      ...(leader && {
        leader: {
          node: holderName(leader.holder),
          epoch: leader.epoch,
          ...(leading?.stand === 'leader' ? { since: leading.standSince } : {}),
          expiresInMs: leader.until - now,
        },
      }),
      nodes: nodes.map((node) => viewOf(node, then, silence)),
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
  }

  async setRole(id: string, role: NodeOverride): Promise<NodeView> {
    const { store } = this.#engine;
    const known = await store.nodeRole({ id, role });
    const { now, nodes } = await store.nodeList();
    const node = nodes.find((one) => one.id === id);
    if (known && node !== undefined) return viewOf(node, now, this.#silence);
    const hint =
      nodes.length === 0 ? 'No node works on this store.' : `There are ${nodes.map((one) => one.id).join(', ')}.`;
    throw fault('NOT_FOUND', { kind: 'node', id }, { hint });
  }
}

function viewOf(node: NodeRecord, now: number, silence: Silence): NodeView {
  const { id, stand, standSince, wish, override, address, version, host, pid, startedAt, beatAt, left } = node;
  const silentMs = Math.max(0, now - beatAt);
  return {
    id,
    state: left ? 'left' : nodeHealth(silentMs, silence),
    role: stand,
    roleSince: standSince,
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

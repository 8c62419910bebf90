/**
 * The role of a node. `auto`: it leads if no node does, and serves in any case. `leader`: it leads, or does not start. `worker`: it serves,
 * and never leads. `observer`: it answers reads, and does nothing else.
 */
export const NODE_ROLES = ['auto', 'leader', 'worker', 'observer'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

/**
 * The role that a node may be given while it runs. `auto` takes that back: the node returns to the role that it was started with. `leader`: the
 * others leave leading to it as long as it is healthy. At most one node is asked to lead.
 */
export const NODE_OVERRIDES = ['auto', 'leader', 'worker', 'observer'] as const;
export type NodeOverride = (typeof NODE_OVERRIDES)[number];

/** What a node does at present. */
export type NodeStatus = 'boot' | 'electing' | 'leader' | 'worker' | 'observer';

/**
 * What changes the status. `asked`: the node got its role, at the start or later. `won` and `refused`: the result of an election. `lost`:
 * the term could not be renewed in time. `retry`: the next election is due.
 */
export type NodeEvent = 'asked' | 'won' | 'refused' | 'lost' | 'retry';

/**
 *   boot ──asked──> electing ──won──> leader ──lost──> worker
 *                      │ ^                                │
 *                      │ └────────────retry───────────────┤
 *                      └──refused─────────────────────────┘
 *
 *   any ──asked: observer──> observer ──asked: auto──> electing            any ──asked: worker──> worker
 */
export function nextStatus(status: NodeStatus, event: NodeEvent, role: NodeRole): NodeStatus {
  switch (event) {
    case 'asked':
      if (!mayLead(role)) return role;
      return status === 'leader' ? 'leader' : 'electing';
    case 'retry':
      return status === 'worker' && mayLead(role) ? 'electing' : status;
    case 'won':
      return status === 'electing' ? 'leader' : status;
    case 'refused':
      return status === 'electing' ? 'worker' : status;
    case 'lost':
      return status === 'leader' ? 'worker' : status;
  }
}

export function mayLead(role: NodeRole): role is 'auto' | 'leader' {
  return role === 'auto' || role === 'leader';
}

/** How the incarnation of a node begins that came by `register_node`: a program of apflow, which is a worker of the engine. */
export const CALLING_NODE = 'node:';

/** What a node knows of another one. */
export interface OtherNode {
  readonly id: string;
  readonly override: NodeOverride;
  readonly left: boolean;
  /** Since its last heartbeat. */
  readonly silentMs: number;
}

/**
 * Whether this node leaves leading to another one that was asked to lead. One that is silent, or gone, is not waited for: then any may lead. Two
 * that were asked at the same moment do not wait for each other: the first by id leads. This is only policy: who leads is decided by the lease of
 * the duty and its epoch.
 */
export function givesWay(id: string, nodes: readonly OtherNode[], { staleMs }: Pick<Silence, 'staleMs'>): boolean {
  const asked = nodes.filter(({ override, left, silentMs }) => override === 'leader' && !left && silentMs <= staleMs);
  const isAsked = asked.some((node) => node.id === id);
  return asked.some((node) => (isAsked ? node.id < id : true));
}

/** How long a node may be silent since its last heartbeat. */
export interface Silence {
  readonly staleMs: number;
  readonly deadMs: number;
}

export const DEFAULT_SILENCE: Silence = { staleMs: 30_000, deadMs: 120_000 };

/** `left`: it has signed off. */
export const NODE_HEALTH = ['healthy', 'stale', 'dead', 'left'] as const;
export type NodeHealth = (typeof NODE_HEALTH)[number];

export function nodeHealth(silentMs: number, { staleMs, deadMs }: Silence): NodeHealth {
  if (silentMs > deadMs) return 'dead';
  return silentMs > staleMs ? 'stale' : 'healthy';
}

/** The name of a duty's holder: without the part that tells its incarnation from others of the same name. */
export function holderName(holder: string): string {
  const end = holder.lastIndexOf('/');
  return end === -1 ? holder : holder.slice(0, end);
}

/**
 * What a node may be asked to be. `auto`: it leads if nobody does, and serves in any case. `leader`: it leads, or does not start.
 * `worker`: it serves, and never leads. `observer`: it answers questions, and does nothing else.
 */
export const NODE_ROLES = ['auto', 'leader', 'worker', 'observer'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

/** What a node may be asked for while it runs; `auto` takes that back, and it goes by what it was started with. */
export const NODE_OVERRIDES = ['auto', 'worker', 'observer'] as const;
export type NodeOverride = (typeof NODE_OVERRIDES)[number];

/** How a node stands: what it does at present. */
export type NodeStatus = 'boot' | 'electing' | 'leader' | 'worker' | 'observer';

/**
 * What moves it. `asked`: it was told its role, at the start or later. `won` and `refused`: how an election went. `lost`: the term
 * could not be renewed in time. `retry`: it is time for the next election.
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

/** Of its last beat: how long a node may be silent. */
export interface Silence {
  readonly staleMs: number;
  readonly deadMs: number;
}

export const DEFAULT_SILENCE: Silence = { staleMs: 30_000, deadMs: 120_000 };

/** `left`: it said goodbye. */
export const NODE_HEALTH = ['healthy', 'stale', 'dead', 'left'] as const;
export type NodeHealth = (typeof NODE_HEALTH)[number];

export function nodeHealth(silentMs: number, { staleMs, deadMs }: Silence): NodeHealth {
  if (silentMs > deadMs) return 'dead';
  return silentMs > staleMs ? 'stale' : 'healthy';
}

/** What a holder of duties is called: everything but what tells its incarnation from others of the name. */
export function holderName(holder: string): string {
  const end = holder.lastIndexOf('/');
  return end === -1 ? holder : holder.slice(0, end);
}

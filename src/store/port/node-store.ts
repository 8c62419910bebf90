import type { NodeOverride, NodeRole } from '../../core/node.ts';

/** The part of the port for the nodes of a cluster. */
export interface NodeStore {
  /**
   * Records that a node lives, and what it does. The first beat of a process takes the row of its id; beats of the
   * incarnation before it are refused from then on. A beat without a row makes one.
   */
  nodeBeat(params: NodeBeat): Promise<NodeAnswer>;
  /** By id. */
  nodeList(): Promise<NodeSnapshot>;
  /**
   * The node ends in order: its row goes, or is marked as left while a role is asked of it. A later incarnation is not
   * touched.
   */
  nodeLeave(params: { readonly id: string; readonly incarnation: string }): Promise<void>;
  /** Asks another role of a node than it was started with. False: there is no node of that id. */
  nodeRole(params: { readonly id: string; readonly role: NodeOverride }): Promise<boolean>;
  /**
   * Keeps the fingerprint of the secret that all nodes share, if none is kept or if it replaces that one, and answers
   * the one that is kept. Of concurrent first ones one is kept. Without a fingerprint it only reads.
   */
  secretPin(params: {
    readonly fingerprint?: string | undefined;
    readonly replace?: boolean | undefined;
  }): Promise<SecretPin | undefined>;
  /** A setting of the cluster: a text by its name. Undefined: it was never written. */
  settingRead(params: { readonly name: ClusterSettingName }): Promise<string | undefined>;
  /** Writes it, unless it is another text than `before` by now: false. Of concurrent writers with the same `before` one succeeds. */
  settingSwap(params: {
    readonly name: ClusterSettingName;
    readonly before: string | undefined;
    readonly value: string;
  }): Promise<boolean>;
}

/** The settings of a cluster that are kept in its store. */
export type ClusterSettingName = 'upgrade';

export interface SecretPin {
  readonly fingerprint: string;
  /**
   * If tasks were running when the first fingerprint was kept: the calendar time of that. Their leases were proven
   * without the secret.
   */
  readonly leasesBefore?: number | undefined;
}

export interface NodeBeat {
  readonly id: string;
  /** Names the process. Each start has another one. */
  readonly incarnation: string;
  /** The first beat of this process. */
  readonly first: boolean;
  /** The role that it was started with. */
  readonly wish: NodeRole;
  /** What it does. */
  readonly stand: NodeDoing;
  readonly address?: string | undefined;
  readonly version?: string | undefined;
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
}

export type NodeDoing = 'leader' | 'worker' | 'observer';

export type NodeAnswer =
  | {
      readonly ok: true;
      /** The role that is asked of it instead of its own; `auto`: none. */
      readonly override: NodeOverride;
      /** The incarnation that had the id until now. */
      readonly replaced: string | undefined;
    }
  /** A newer process has the id. */
  | { readonly ok: false; readonly host: string | undefined; readonly pid: number | undefined };

export interface NodeRecord extends Omit<NodeBeat, 'first'> {
  readonly override: NodeOverride;
  /** Since when it does this, in calendar time. */
  readonly standSince: number;
  /** Calendar time. */
  readonly startedAt: number;
  /** Lease time. */
  readonly beatAt: number;
  readonly left: boolean;
}

export interface NodeSnapshot {
  /** Lease time, which the beats are in. */
  readonly now: number;
  readonly nodes: readonly NodeRecord[];
}

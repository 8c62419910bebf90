import type { NodeOverride, NodeRole } from '../core/node.ts';

/** The part of the port for the nodes of a cluster, and for who holds which duty. */
export interface NodeStore {
  /**
   * Says that a node lives, and what it does. The first beat of a process takes the row of its id; from then on the beats of the
   * incarnation that had it are refused, and change nothing. A beat without a row makes one.
   */
  nodeBeat(params: NodeBeat): Promise<NodeAnswer>;
  /** By id. */
  nodeList(): Promise<NodeSnapshot>;
  /** It ends in order: its row goes, or stays as that of one that left while something is asked of it. Of a later one: nothing. */
  nodeLeave(params: { readonly id: string; readonly incarnation: string }): Promise<void>;
  /** Asks something else of a node than it was started with; false when there is none of that id. */
  nodeRole(params: { readonly id: string; readonly role: NodeOverride }): Promise<boolean>;
}

export interface NodeBeat {
  readonly id: string;
  /** Names the process; another start is another one. */
  readonly incarnation: string;
  /** The first one of this process. */
  readonly first: boolean;
  /** What it was started as. */
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
      /** What is asked of it instead of its own wish; `auto`: nothing. */
      readonly override: NodeOverride;
      /** The incarnation that had the id until now. */
      readonly replaced: string | undefined;
    }
  /** A newer process has the id. */
  | { readonly ok: false; readonly host: string | undefined; readonly pid: number | undefined };

export interface NodeRecord extends Omit<NodeBeat, 'first'> {
  readonly override: NodeOverride;
  /** Calendar time: since when it does what it does. */
  readonly standSince: number;
  /** Calendar time. */
  readonly startedAt: number;
  /** Lease time. */
  readonly beatAt: number;
  readonly left: boolean;
}

export interface NodeSnapshot {
  /** Lease time, in which beats are told. */
  readonly now: number;
  readonly nodes: readonly NodeRecord[];
}

import type { Vector } from './vector.ts';

/** Where a run of a graph stands. What its nodes gave is kept elsewhere: here only how much that was. */
export interface GraphSnapshot {
  readonly nodes: Vector<NodeState>;
  /** Nodes that have not ended. */
  readonly open: number;
  readonly running: number;
  /** The first one that failed: nothing begins after that. */
  readonly failed: NodeFailure | undefined;
}

export type NodeState =
  /** Not part of this run. */
  | { readonly at: 'outside' }
  /** `missing`: connections over which nothing came yet. `fed`: over one of the others came an item. */
  | { readonly at: 'waiting'; readonly missing: number; readonly fed: boolean }
  | { readonly at: 'running' }
  | ({ readonly at: 'done' } & Flow)
  /** Nothing came in, so it did not run, and gives nothing. */
  | { readonly at: 'skipped' }
  | { readonly at: 'failed' };

/** How many items a node gave. */
export interface Flow {
  readonly kept: number;
  /** Of a node `if`: those for which its condition does not hold. */
  readonly rejected: number;
}

export interface NodeFailure {
  readonly node: number;
  readonly type: string;
  readonly message: string;
}

export type GraphEvent =
  | ({ readonly kind: 'ended'; readonly node: number } & Flow)
  | ({ readonly kind: 'failed' } & NodeFailure);

export type GraphCommand =
  | { readonly do: 'run'; readonly node: number }
  | { readonly do: 'complete' }
  | { readonly do: 'fail'; readonly failure: NodeFailure };

export interface GraphReduced {
  readonly snapshot: GraphSnapshot;
  readonly commands: readonly GraphCommand[];
}

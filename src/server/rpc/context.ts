import type { Engine } from '../../engine/engine.ts';
import type { Admit } from '../../engine/trees/documents.ts';
import type { MethodName, ParamsOf } from '../../protocol/rpc/methods.ts';
import type { Principal } from '../auth/access.ts';
import type { EventBroadcaster } from '../events/event-broadcaster.ts';
import type { LeaseTokens } from '../workers/lease-tokens.ts';

/** What the methods work on. */
export interface RpcServices {
  readonly engine: Engine;
  readonly broadcaster: EventBroadcaster;
  readonly leases: LeaseTokens;
  readonly version: string;
  /** What is said of a worker's name. */
  readonly settingOf: (name: string) => Promise<{ readonly enabled: boolean; readonly tags: readonly string[] }>;
  /** Has overdue leases taken back; says of which tasks they were, and how many are overdue still. */
  readonly recover: () => Promise<{ readonly recovered: readonly number[]; readonly overdue: number }>;
  /** JSON Schemas of the inputs of handlers that are known, by name. */
  readonly schemas: () => Promise<Readonly<Record<string, unknown>>>;
  /** Why this node cannot hand out work; nothing when it can. */
  readonly obstacles: () => Promise<readonly string[]>;
}

/** One call that was let in and is well formed. */
export interface RpcCall<N extends MethodName = MethodName> extends RpcServices {
  readonly params: ParamsOf<N>;
  readonly principal: Principal;
  /** It is alone in its request and somebody waits for its answer, so that this may be a stream. */
  readonly alone: boolean;
  /** The one place that tasks are written down or started by: refuses more of them than this caller may have. */
  readonly admit: Admit;
}

/** Resolves to what is answered, or to a `Stream`. */
export type RpcHandler<N extends MethodName> = (call: RpcCall<N>) => Promise<unknown>;
export type RpcHandlers<N extends MethodName> = { readonly [K in N]: RpcHandler<K> };

import type { Engine } from '../../engine/engine.ts';
import type { Admit } from '../../engine/trees/documents.ts';
import type { MethodName, ParamsOf } from '../../protocol/rpc/methods.ts';
import type { Principal } from '../auth/access.ts';
import type { EventBroadcaster } from '../events/event-broadcaster.ts';
import type { LeaseTokens } from '../workers/lease-tokens.ts';
import type { WorkerSetting } from '../workers/worker-settings.ts';
import type { CallingNodes } from './calling-nodes.ts';
import type { GoingWebhooks } from './webhook.ts';

/** The services that the methods use. */
export interface RpcServices {
  readonly engine: Engine;
  readonly broadcaster: EventBroadcaster;
  readonly webhooks: GoingWebhooks;
  readonly leases: LeaseTokens;
  readonly version: string;
  /** The settings of a worker's name. */
  readonly settingOf: (name: string) => Promise<WorkerSetting>;
  /** The settings of the name of a worker that joins, and offers these handlers. */
  readonly settingOfJoining: (name: string, offered: readonly string[]) => Promise<WorkerSetting>;
  /** The nodes of apflow that call this node. */
  readonly callingNodes: CallingNodes;
  /** Takes back overdue leases; answers their tasks, and how many are still overdue. */
  readonly recover: () => Promise<{ readonly recovered: readonly number[]; readonly overdue: number }>;
  /** JSON Schemas of the inputs of known handlers, by name. */
  readonly schemas: () => Promise<Readonly<Record<string, unknown>>>;
  /** Why this node cannot hand out work; empty when it can. */
  readonly obstacles: () => Promise<readonly string[]>;
}

/** One call that is authorized and validated. */
export interface RpcCall<N extends MethodName = MethodName> extends RpcServices {
  readonly params: ParamsOf<N>;
  readonly principal: Principal;
  /** The call is alone in its request and has an id, so that its answer may be a stream. */
  readonly alone: boolean;
  /** Every write and start of tasks passes here; it refuses more than this caller may have. */
  readonly admit: Admit;
}

/** Resolves to the result, or to an `EventStream`. */
export type RpcHandler<N extends MethodName> = (call: RpcCall<N>) => Promise<unknown>;
export type RpcHandlers<N extends MethodName> = { readonly [K in N]: RpcHandler<K> };

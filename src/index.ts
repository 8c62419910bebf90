export { type Node, type NodeOptions, openNode } from './app/node.ts';
export { CATALOGUE, EngineError, type ErrorCode, isEngineError } from './core/errors.ts';
export type { QueueStats, TaskEvent } from './core/event.ts';
export type { Lease } from './core/lease.ts';
export type { RetryInput, RetryPolicy } from './core/retry.ts';
export type { Change, FinalState, Reason, TaskState } from './core/task.ts';
export {
  type ClaimOptions,
  Engine,
  type FailOptions,
  type HeldLease,
  type Pushed,
  type ReleaseOptions,
} from './engine/engine.ts';
export type { FeedItem } from './engine/feed.ts';
export type { PushRequest } from './engine/push.ts';
export { listTriggers, putTrigger, removeTrigger, type TriggerRequest } from './engine/triggers.ts';
export type * from './store/store.ts';

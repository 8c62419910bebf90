export type { AppArtifacts, ArtifactListOptions } from './app/artifacts/library.ts';
export type { SaveOptions } from './app/artifacts/save.ts';
export { graphs } from './app/graphs/graph-handler.ts';
export { type AgentFunction, type AgentsOptions, type AgentTask, agents } from './app/library/agents.ts';
export { TaskHandle } from './app/library/handle.ts';
export type {
  AppEvent,
  AppFeedItem,
  AppTree,
  AppWorkerEvent,
  FollowOptions,
  Handle,
  Leasehold,
  RunOptions,
  WorkflowHandle,
} from './app/library/leasehold.ts';
export { type MachinesOptions, machines } from './app/library/machines.ts';
export type {
  AppRuns,
  ForkRun,
  RunListOptions,
  RunStepsOptions,
  StartedRunView,
  StartRun,
} from './app/library/runs.ts';
export { type Node, type NodeOptions, openNode } from './app/node.ts';
export { App, type GraphTaskInput, type NodeUrl, type OpenOptions, open, type PushOptions } from './app/open.ts';
export type { RemoteApp, RemoteOptions, RemoteWorkerOptions } from './app/remote/remote-app.ts';
export type { AppWorkerOptions } from './app/worker.ts';
export { CATALOGUE, EngineError, type ErrorCode, isEngineError } from './core/errors.ts';
export type { QueueStats, TaskEvent } from './core/task/event.ts';
export type { Lease } from './core/task/lease.ts';
export type { LogEntry, Stream } from './core/task/log.ts';
export type { RetryInput, RetryPolicy } from './core/task/retry.ts';
export type { ReuseInput } from './core/task/reuse.ts';
export type { Change, FinalState, Reason, TaskState } from './core/task/task.ts';
export { type ClaimOptions, Engine } from './engine/engine.ts';
export type { PushRequest } from './engine/push/push.ts';
export type { Pushed } from './engine/push/pushes.ts';
export type { FeedItem } from './engine/read/feed.ts';
export type { Fire, Schedule, ScheduleRequest } from './engine/schedules.ts';
export type { FailOptions, ReleaseOptions } from './engine/settle/settle-options.ts';
export type { HeldLease } from './engine/settle/settles.ts';
export type { CancelAct, RetryAct, TreeAnswer, TreeOptions, TreeProgress, TreeTask } from './engine/trees/trees.ts';
export type {
  ApprovalView as Approval,
  ArtifactView,
  RunDetailView,
  RunStepDetailView,
  RunStepView,
  RunView,
  TaskView,
} from './operate/views.ts';
export { readSigningKey, readTrustedKeys, type SigningKey } from './protocol/signed-task.ts';
export type * from './store/store.ts';
export type {
  AnyTask,
  TaskContext,
  TaskDefinition,
  TaskOptions,
} from './worker/define/definition.ts';
export { done, giveUp, type Outcome, retryAfter } from './worker/define/outcome.ts';
export type { InputOf, ResultOf } from './worker/define/pushable-task.ts';
export type { StandardSchema } from './worker/define/schema.ts';
export { task } from './worker/define/task.ts';
export type {
  ApprovalRequest,
  Child,
  ChildResult,
  Decision,
  DependencyResult,
  DurableList as RememberedList,
  SpawnOptions,
  StepInfo,
  StepOptions,
  StepPolicy,
} from './worker/durable/durable-context.ts';
export type { Worker } from './worker/worker.ts';
export type { WorkerStats } from './worker/worker-options.ts';
export { StepError } from './worker/workflow/step-error.ts';
export { type AnyWorkflow, type Workflow, type WorkflowOptions, workflow } from './worker/workflow/workflow.ts';
export type { MapOptions, StepRules, WorkflowContext, WorkflowStep } from './worker/workflow/workflow-context.ts';

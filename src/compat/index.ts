export { idempotencyKey } from '../app/library/manual.ts';
export {
  cloneSnapshot,
  cloneSnapshot as clone_snapshot,
  type ExecutionLock,
  FileLock,
  FileTrigger,
  InMemoryResultBackend,
  incompleteExecutions,
  LocalFileBackend,
  MemoryBackend,
  MemoryLock,
  MemorySignalBackend,
  NoOpLock,
  NoOpTrigger,
  type PersistenceBackend,
  type ResultBackend,
  type SignalBackend,
  SignalDispatcher,
  SocketTrigger,
  SQLiteCheckpointBackend,
  SQLiteLeaseLock,
  SQLiteSignalBackend,
  sendAndNotify,
  sendAndNotify as send_and_notify,
  type TriggerBackend,
  type WireSnapshot as MachineSnapshot,
} from '../app/machines/backends.ts';
export { type HooksFactory, HooksRegistry, MachineFailed, type MachineHooks } from '../app/machines/parts.ts';
export type { MachineStep } from '../app/machines.ts';
export { type BackendConfig, type BackendType } from '../app/pools/backend-config.ts';
export { DistributedWorkerHooks, type DistributedWorkerOptions } from '../app/pools/hooks.ts';
export {
  createRegistrationBackend,
  type RegistrationBackend,
  type WorkerFilter,
  type WorkerRecord,
  type WorkerRegistration,
  type WorkerStatus,
} from '../app/pools/registration-backend.ts';
export { createWorkBackend, type WorkBackend, type WorkItem, type WorkPool } from '../app/pools/work-backend.ts';
export {
  type Capabilities,
  type PlacementConstraints,
  placementFromConstraints,
  tagsFromCapabilities,
} from './apflow/placement-constraints.ts';
export {
  type AgentConfig,
  type AgentRules,
  limitsFromGroups,
  type PushRules,
  rulesFromAgentConfig,
  tagsFromAgent,
} from './dazflow/agent-config.ts';
export {
  type ExecuteOptions,
  type LaunchOptions,
  launchMachine,
  Machine,
  type MachineConfig,
  type MachineOptions,
} from './flatmachines/machine.ts';
export type { SDKRuntimeWrapper } from './flatmachines/sdk-runtime.ts';
export {
  type GatewayEvent,
  GatewayRequest,
  type GatewayRequestFields,
  type GatewayResult,
  type GatewaySession,
} from './universal-agent/gateway-shapes.ts';
export {
  type AgentGateway,
  ExternalGateway,
  gatewayRunHandler,
  type InProcessAgent,
  type InProcessCall,
  InProcessGateway,
  type NewSession,
} from './universal-agent/gateways.ts';
export { type NewRun } from './universal-agent/new-run.ts';
export {
  PoolConfig,
  type PoolConfigFields,
  type PoolScaling,
  WorkerConfig,
  type WorkerConfigFields,
} from './universal-agent/pool/configs.ts';
export type { ScalingDecision, WorkerStatus as RunWorkerStatus } from './universal-agent/pool/decide.ts';
export { gatewayHandler } from './universal-agent/pool/gateway-handler.ts';
export { type PoolOptions, WorkerPoolManager } from './universal-agent/pool/manager.ts';
export { type RunAnswer, type RunContext, RunFailure, type RunHandler } from './universal-agent/pool/run-handler.ts';
export type { PoolStats, WorkerStats } from './universal-agent/pool/stats.ts';
export {
  type PoolWorker,
  Worker,
  type WorkerParts,
  type WorkerState,
  type WorkerStop,
} from './universal-agent/pool/worker.ts';
export type { RunAttempt } from './universal-agent/run-attempts.ts';
export {
  acknowledgeCancel,
  acquireNextRun,
  acquireRunLease,
  acquireRunLeaseInfo,
  completeRun,
  connectRuntimeDb,
  failRun,
  getRun,
  heartbeatRunLease,
  heartbeatRunLeaseInfo,
  listRunAttempts,
  queueRun,
  releaseRunLease,
  requestCancel,
  waitForRun,
} from './universal-agent/run-functions.ts';
export { type Run, type RunSpec, type RunStatus, runStateOf, taskStatesOf } from './universal-agent/runs.ts';
export type { LeaseToken, RuntimeDb, RuntimeDbOptions } from './universal-agent/runtime-db.ts';
export {
  acquireSessionLease,
  getSessionLease,
  heartbeatSessionLease,
  releaseSessionLease,
  type SessionLease,
  type SessionStatus,
} from './universal-agent/sessions.ts';

export { idempotencyKey } from '../app/library/manual.ts';
export {
  type AgentConfig,
  type AgentRules,
  limitsFromGroups,
  type PushRules,
  rulesFromAgentConfig,
  tagsFromAgent,
} from './agent-config.ts';
export { type BackendConfig, type BackendType } from './backend-config.ts';
export {
  type Capabilities,
  type PlacementConstraints,
  placementFromConstraints,
  tagsFromCapabilities,
} from './placement-constraints.ts';
export {
  createRegistrationBackend,
  type RegistrationBackend,
  type WorkerFilter,
  type WorkerRecord,
  type WorkerRegistration,
  type WorkerStatus,
} from './registration-backend.ts';
export { type Run, type RunSpec, type RunStatus, runStateOf, taskStatesOf } from './runs.ts';
export {
  acknowledgeCancel,
  acquireRunLease,
  acquireRunLeaseInfo,
  completeRun,
  connectRuntimeDb,
  failRun,
  getRun,
  heartbeatRunLease,
  heartbeatRunLeaseInfo,
  type LeaseToken,
  type NewRun,
  queueRun,
  type RuntimeDb,
  releaseRunLease,
  requestCancel,
} from './runtime-db.ts';
export type { SDKRuntimeWrapper } from './sdk-runtime.ts';
export { createWorkBackend, type WorkBackend, type WorkItem, type WorkPool } from './work-backend.ts';

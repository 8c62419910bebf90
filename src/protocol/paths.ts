import type { z } from 'zod';
import type { ROUTES, RouteName } from './routes.ts';

type Routes = typeof ROUTES;

/** Routes that a repeat under the same `Idempotency-Key` performs once. */
export type RepeatableName = {
  [N in RouteName]: Routes[N] extends { readonly repeatable: true } ? N : never;
}[RouteName];

/** Routes that answer with a stream, or can. */
export type StreamName = {
  [N in RouteName]: Routes[N] extends { readonly stream: string } ? N : never;
}[RouteName];

/** The body of a call as its caller writes it: fields with a default may be left out. */
export type RequestOf<N extends RouteName> = Routes[N] extends { readonly body: infer B extends z.ZodType }
  ? Deep<z.input<B>>
  : undefined;

/** Readonly all the way down: the caller may pass a value that it must not have changed. */
type Deep<T> = T extends readonly (infer I)[]
  ? readonly Deep<I>[]
  : T extends object
    ? { readonly [K in keyof T]: Deep<T[K]> }
    : T;

/**
 * Method and path of every route, for clients. The table itself brings zod, which takes a command longer to load than all
 * the rest of it. The compiler keeps both in step: a path that is missing here or differs does not compile.
 */
export const PATHS: { readonly [N in RouteName]: `${Routes[N]['method']} ${Routes[N]['path']}` } = {
  health: 'GET /healthz',
  ready: 'GET /readyz',
  metrics: 'GET /metrics',
  openapi: 'GET /openapi.json',
  agentCard: 'GET /.well-known/agent-card.json',
  a2a: 'POST /a2a',
  mcp: 'POST /mcp',
  login: 'POST /ui/login',
  logout: 'POST /ui/logout',
  createLogin: 'POST /api/v1/logins',
  me: 'GET /api/v1/me',
  overview: 'GET /api/v1/overview',
  countTasks: 'GET /api/v1/tasks-histogram',
  listFailures: 'GET /api/v1/failures',
  listHandlers: 'GET /api/v1/handlers',
  listViews: 'GET /api/v1/views',
  saveView: 'POST /api/v1/views',
  removeView: 'DELETE /api/v1/views/{name}',
  pushTasks: 'POST /api/v1/tasks',
  pushGraph: 'POST /api/v1/graphs',
  listTasks: 'GET /api/v1/tasks',
  getTask: 'GET /api/v1/tasks/{id}',
  explainTask: 'GET /api/v1/tasks/{id}/explain',
  readLog: 'GET /api/v1/tasks/{id}/logs',
  listAttempts: 'GET /api/v1/tasks/{id}/attempts',
  showTree: 'GET /api/v1/tasks/{id}/tree',
  cancelTask: 'POST /api/v1/tasks/{id}/cancel',
  retryTask: 'POST /api/v1/tasks/{id}/retry',
  startRun: 'POST /api/v1/runs',
  checkRun: 'POST /api/v1/runs/check',
  listRuns: 'GET /api/v1/runs',
  getRun: 'GET /api/v1/runs/{id}',
  listRunSteps: 'GET /api/v1/runs/{id}/steps',
  getRunStep: 'GET /api/v1/runs/{id}/steps/{key}',
  cancelRun: 'POST /api/v1/runs/{id}/cancel',
  retryRun: 'POST /api/v1/runs/{id}/retry',
  forkRun: 'POST /api/v1/runs/{id}/fork',
  setRunBudget: 'POST /api/v1/runs/{id}/budgets',
  getRunGraph: 'GET /api/v1/runs/{id}/graph',
  getRunGraphStates: 'GET /api/v1/runs/{id}/graph/states',
  getRunGraphNode: 'GET /api/v1/runs/{id}/graph/nodes/{node}',
  listSchedules: 'GET /api/v1/schedules',
  putSchedule: 'POST /api/v1/schedules',
  previewSchedule: 'GET /api/v1/schedule-times',
  getSchedule: 'GET /api/v1/schedules/{name}',
  removeSchedule: 'DELETE /api/v1/schedules/{name}',
  pauseSchedule: 'POST /api/v1/schedules/{name}/pause',
  resumeSchedule: 'POST /api/v1/schedules/{name}/resume',
  runSchedule: 'POST /api/v1/schedules/{name}/run',
  listWorkflows: 'GET /api/v1/workflows',
  applyWorkflow: 'POST /api/v1/workflows',
  checkWorkflow: 'POST /api/v1/workflows/check',
  getWorkflow: 'GET /api/v1/workflows/{name}',
  removeWorkflow: 'DELETE /api/v1/workflows/{name}',
  enableWorkflow: 'POST /api/v1/workflows/{name}/enable',
  disableWorkflow: 'POST /api/v1/workflows/{name}/disable',
  listWorkflowVersions: 'GET /api/v1/workflows/{name}/versions',
  getWorkflowVersion: 'GET /api/v1/workflows/{name}/versions/{version}',
  restoreWorkflow: 'POST /api/v1/workflows/{name}/versions/{version}/restore',
  runWorkflow: 'POST /api/v1/workflows/{name}/runs',
  listTriggers: 'GET /api/v1/triggers',
  putTrigger: 'POST /api/v1/triggers',
  getTrigger: 'GET /api/v1/triggers/{name}',
  removeTrigger: 'DELETE /api/v1/triggers/{name}',
  enableTrigger: 'POST /api/v1/triggers/{name}/enable',
  disableTrigger: 'POST /api/v1/triggers/{name}/disable',
  rotateTrigger: 'POST /api/v1/triggers/{name}/rotate',
  fireTrigger: 'POST /api/v1/triggers/{name}/fire',
  triggerHistory: 'GET /api/v1/triggers/{name}/history',
  deliverHook: 'POST /api/v1/hooks/{name}',
  listQueues: 'GET /api/v1/queues',
  getQueue: 'GET /api/v1/queues/{queue}',
  scaleQueue: 'GET /api/v1/queues/{queue}/scale',
  pauseQueue: 'POST /api/v1/queues/{queue}/pause',
  resumeQueue: 'POST /api/v1/queues/{queue}/resume',
  purgeQueue: 'POST /api/v1/queues/{queue}/purge',
  retryQueue: 'POST /api/v1/queues/{queue}/retry',
  listWorkers: 'GET /api/v1/workers',
  getWorker: 'GET /api/v1/workers/{name}',
  editWorker: 'PATCH /api/v1/workers/{name}',
  createWorker: 'POST /api/v1/workers',
  enrolWorker: 'POST /api/v1/workers/enrol',
  rotateWorker: 'POST /api/v1/workers/{name}/rotate',
  removeWorker: 'DELETE /api/v1/workers/{name}',
  listTags: 'GET /api/v1/tags',
  listCredentials: 'GET /api/v1/credentials',
  setCredential: 'POST /api/v1/credentials',
  getCredential: 'GET /api/v1/credentials/{name}',
  removeCredential: 'DELETE /api/v1/credentials/{name}',
  grantCredential: 'POST /api/v1/credentials/{name}/grant',
  revokeCredential: 'POST /api/v1/credentials/{name}/revoke',
  createTag: 'POST /api/v1/tags',
  renameTag: 'PATCH /api/v1/tags/{name}',
  removeTag: 'DELETE /api/v1/tags/{name}',
  listPools: 'GET /api/v1/pools',
  putPool: 'POST /api/v1/pools',
  getPool: 'GET /api/v1/pools/{name}',
  removePool: 'DELETE /api/v1/pools/{name}',
  checkPool: 'POST /api/v1/pools/{name}/check',
  listPoolDecisions: 'GET /api/v1/pools/{name}/decisions',
  listPoolTickets: 'GET /api/v1/pools/{name}/tickets',
  listLimits: 'GET /api/v1/limits',
  createLimit: 'POST /api/v1/limits',
  getLimit: 'GET /api/v1/limits/{name}',
  editLimit: 'PATCH /api/v1/limits/{name}',
  removeLimit: 'DELETE /api/v1/limits/{name}',
  pauseLimit: 'POST /api/v1/limits/{name}/pause',
  resumeLimit: 'POST /api/v1/limits/{name}/resume',
  sendSignal: 'POST /api/v1/signals',
  listApprovals: 'GET /api/v1/approvals',
  decideApproval: 'POST /api/v1/approvals/{id}',
  readEvents: 'GET /api/v1/events/page',
  streamEvents: 'GET /api/v1/events',
  registerWorker: 'POST /workers/register',
  beatWorker: 'POST /workers/{id}/heartbeat',
  claimSteps: 'POST /workers/{id}/claim',
  appendEvents: 'POST /steps/{id}/events',
  completeStep: 'POST /steps/{id}/complete',
  startLoop: 'POST /runs',
  listLoops: 'GET /runs',
  getLoop: 'GET /runs/{id}',
  listLoopSteps: 'GET /runs/{id}/steps',
  pauseLoop: 'POST /runs/{id}/pause',
  resumeLoop: 'POST /runs/{id}/resume',
  cancelLoop: 'POST /runs/{id}/cancel',
  retryLoop: 'POST /runs/{id}/retry',
  diffLoop: 'GET /runs/{id}/diff',
  mergeLoop: 'POST /runs/{id}/merge',
  scrapLoop: 'POST /runs/{id}/scrap',
  createLoopPr: 'POST /runs/{id}/create-pr',
  listWorktrees: 'GET /worktrees',
  removeWorktree: 'DELETE /worktrees',
  streamLoopEvents: 'GET /runs/{id}/events',
  streamLoopOutput: 'GET /runs/{id}/output',
  loopdHealth: 'GET /health',
  joinWorker: 'POST /workers/join',
  takeTasks: 'POST /workers/{id}/tasks',
  askNode: 'POST /workers/{id}/ask',
  getCluster: 'GET /api/v1/cluster',
  editNode: 'PATCH /api/v1/cluster/nodes/{id}',
  rpcRoot: 'POST /',
  rpc: 'POST /rpc',
  rpcTasks: 'POST /tasks',
  rpcSystem: 'POST /system',
  listTokens: 'GET /api/v1/tokens',
  createToken: 'POST /api/v1/tokens',
  rotateToken: 'POST /api/v1/tokens/{id}/rotate',
  revokeToken: 'DELETE /api/v1/tokens/{id}',
  listAudit: 'GET /api/v1/audit',
  installScript: 'GET /install.sh',
  releaseManifest: 'GET /release/manifest.json',
  releaseBundle: 'GET /release/bundle/{sha256}',
  getUpgrade: 'GET /api/v1/upgrade',
  editUpgrade: 'PATCH /api/v1/upgrade',
};

const REPEATABLE: { readonly [N in RepeatableName]: true } = {
  pushTasks: true,
  pushGraph: true,
  startRun: true,
  runWorkflow: true,
  fireTrigger: true,
  startLoop: true,
};

export function isRepeatable(name: RouteName): name is RepeatableName {
  return Object.hasOwn(REPEATABLE, name);
}

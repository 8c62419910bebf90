import type { Answer, Body, Params, Query, Route } from './route.ts';
import { AGENT_ROUTES } from './routes/agents.ts';
import { ARTIFACT_ROUTES } from './routes/artifacts.ts';
import { AUDIT_ROUTES } from './routes/audit.ts';
import { CLUSTER_ROUTES } from './routes/cluster.ts';
import { CREDENTIAL_ROUTES } from './routes/credentials.ts';
import { EVENT_ROUTES } from './routes/events.ts';
import { INSIGHT_ROUTES } from './routes/insight.ts';
import { LIMIT_ROUTES } from './routes/limits.ts';
import { LOGIN_ROUTES } from './routes/login.ts';
import { LOOPD_ROUTES } from './routes/loopd.ts';
import { LOOP_ROUTES } from './routes/loops.ts';
import { POOL_ROUTES } from './routes/pools.ts';
import { QUEUE_ROUTES } from './routes/queues.ts';
import { RELEASE_ROUTES } from './routes/releases.ts';
import { RPC_ROUTES } from './routes/rpc.ts';
import { RUN_GRAPH_ROUTES } from './routes/run-graphs.ts';
import { RUN_ROUTES } from './routes/runs.ts';
import { SCHEDULE_ROUTES } from './routes/schedules.ts';
import { SYSTEM_ROUTES } from './routes/system.ts';
import { TAG_ROUTES } from './routes/tags.ts';
import { TASK_ROUTES } from './routes/tasks.ts';
import { TOKEN_ROUTES } from './routes/tokens.ts';
import { TRIGGER_ROUTES } from './routes/triggers.ts';
import { WAIT_ROUTES } from './routes/waits.ts';
import { WORKER_SESSION_ROUTES } from './routes/worker-sessions.ts';
import { WORKER_ROUTES } from './routes/workers.ts';
import { WORKFLOW_ROUTES } from './routes/workflows.ts';

/** Everything that a node answers over HTTP, once. The reference page lists it in this order. */
export const ROUTES = {
  ...SYSTEM_ROUTES,
  ...AGENT_ROUTES,
  ...LOGIN_ROUTES,
  ...INSIGHT_ROUTES,
  ...TASK_ROUTES,
  ...RUN_ROUTES,
  ...RUN_GRAPH_ROUTES,
  ...ARTIFACT_ROUTES,
  ...SCHEDULE_ROUTES,
  ...WORKFLOW_ROUTES,
  ...TRIGGER_ROUTES,
  ...QUEUE_ROUTES,
  ...WORKER_ROUTES,
  ...CREDENTIAL_ROUTES,
  ...TAG_ROUTES,
  ...POOL_ROUTES,
  ...LIMIT_ROUTES,
  ...WAIT_ROUTES,
  ...EVENT_ROUTES,
  ...CLUSTER_ROUTES,
  ...LOOPD_ROUTES,
  ...LOOP_ROUTES,
  ...WORKER_SESSION_ROUTES,
  ...RPC_ROUTES,
  ...TOKEN_ROUTES,
  ...AUDIT_ROUTES,
  ...RELEASE_ROUTES,
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;
export type ParamsOf<N extends RouteName> = Params<(typeof ROUTES)[N]>;
export type QueryOf<N extends RouteName> = Query<(typeof ROUTES)[N]>;
export type BodyOf<N extends RouteName> = Body<(typeof ROUTES)[N]>;
export type AnswerOf<N extends RouteName> = Answer<(typeof ROUTES)[N]>;

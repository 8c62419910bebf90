import { z } from 'zod';
import { CHANGES } from '../core/task.ts';
import { type Answer, type Body, type Params, type Query, type Route, route } from './route.ts';
import { Duration, digits, Paging, pathName, Switch, several, TaskState } from './shapes/common.ts';
import { Event } from './shapes/event.ts';
import { Limit, LimitDetail, LimitEdit, LimitInput, LimitPause } from './shapes/limit.ts';
import { Queue } from './shapes/queue.ts';
import {
  ClaimInput,
  Completed,
  CompleteInput,
  Heartbeat,
  HeartbeatInput,
  Registered,
  RegisterInput,
  Step,
  StepEventsInput,
} from './shapes/step.ts';
import { Attempt, Explanation, LogLine, PushInput, Task, TaskDetail, TreeAnswer, TreeInput } from './shapes/task.ts';
import { NewToken, Token, TokenInput } from './shapes/token.ts';
import { Approval, Decision, DecisionInput, Signal, SignalInput } from './shapes/wait.ts';
import { Enrolled, NewWorkerAnswer, NewWorkerInput, Tag, Worker, WorkerEdit, WorkerSetting } from './shapes/worker.ts';

const API = '/api/v1';
const oneTask = z.strictObject({ id: pathName('The id of a task') });
const oneQueue = z.strictObject({ queue: pathName('The name of a queue') });
const oneLimit = z.strictObject({ name: pathName('The name of a limit') });
const oneWorker = z.strictObject({ name: pathName('The name of a worker') });
const oneSession = z.strictObject({ id: pathName('The worker_id of the session') });
const oneToken = z.strictObject({ id: digits(z.number().min(1)).describe('The number of a token') });

/** Document 003 has an address for each kind of method; all of them know all methods. */
const rpc = <const P extends string>(path: P, does: string) =>
  route({
    method: 'POST',
    path,
    access: 'any',
    does,
    body: z.unknown().describe('A call of JSON-RPC 2.0, or an array of up to 50'),
    answer: z.unknown(),
    stream: 'maybe',
    rpc: true,
  });

/** Everything that is answered over HTTP, once. */
export const ROUTES = {
  health: route({
    method: 'GET',
    path: '/healthz',
    access: 'open',
    does: 'Says that the process is alive',
    answer: z.object({ status: z.literal('ok') }),
  }),
  ready: route({
    method: 'GET',
    path: '/readyz',
    access: 'open',
    does: 'Says whether this node can hand out work; 503 when it cannot. Why not is told to who may read',
    answer: z.object({ status: z.enum(['ready', 'not ready']), reasons: z.array(z.string()).readonly().optional() }),
  }),
  metrics: route({
    method: 'GET',
    path: '/metrics',
    access: 'read',
    does: 'Figures for Prometheus',
    answer: z.string(),
    text: 'prometheus',
  }),
  openapi: route({
    method: 'GET',
    path: '/openapi.json',
    access: 'read',
    does: 'This API as an OpenAPI 3.1 document',
    answer: z.record(z.string(), z.unknown()),
  }),

  pushTasks: route({
    method: 'POST',
    path: `${API}/tasks`,
    access: 'operator',
    does: 'Adds a task, or several: all or none of them, but for what a limit refuses',
    body: PushInput,
    answer: z.union([Task, z.object({ tasks: z.array(Task).readonly() })]),
    status: 201,
    repeatable: true,
  }),
  listTasks: route({
    method: 'GET',
    path: `${API}/tasks`,
    access: 'read',
    does: 'Tasks, the newest first',
    query: z.strictObject({ queue: several(z.string()), state: several(TaskState), ...Paging }),
    answer: z.object({ tasks: z.array(Task).readonly(), cursor: z.string().optional() }),
  }),
  getTask: route({
    method: 'GET',
    path: `${API}/tasks/{id}`,
    access: 'read',
    does: 'A task with its attempts, and why it waits',
    params: oneTask,
    answer: TaskDetail,
  }),
  explainTask: route({
    method: 'GET',
    path: `${API}/tasks/{id}/explain`,
    access: 'read',
    does: 'Why a task is where it is: the verdict for each worker and each limit',
    params: oneTask,
    answer: Explanation,
  }),
  readLog: route({
    method: 'GET',
    path: `${API}/tasks/{id}/logs`,
    access: 'read',
    does: 'The log of a task. With follow=1 as a stream that ends with the task; the id of a message is a cursor',
    params: oneTask,
    query: z.strictObject({ follow: Switch, ...Paging }),
    answer: z.object({ lines: z.array(LogLine).readonly(), cursor: z.string().optional() }),
    stream: 'maybe',
  }),
  listAttempts: route({
    method: 'GET',
    path: `${API}/tasks/{id}/attempts`,
    access: 'read',
    does: 'The attempts of a task, oldest first',
    params: oneTask,
    answer: z.object({ attempts: z.array(Attempt).readonly() }),
  }),
  cancelTask: route({
    method: 'POST',
    path: `${API}/tasks/{id}/cancel`,
    access: 'operator',
    does: 'Ends a task that waits, asks the worker of one that runs',
    params: oneTask,
    body: TreeInput,
    answer: TreeAnswer,
  }),
  retryTask: route({
    method: 'POST',
    path: `${API}/tasks/{id}/retry`,
    access: 'operator',
    does: 'Runs a finished task again',
    params: oneTask,
    body: TreeInput,
    answer: TreeAnswer,
  }),

  listQueues: route({
    method: 'GET',
    path: `${API}/queues`,
    access: 'read',
    does: 'Queues with their counts',
    answer: z.object({ queues: z.array(Queue).readonly() }),
  }),
  pauseQueue: route({
    method: 'POST',
    path: `${API}/queues/{queue}/pause`,
    access: 'operator',
    does: 'Nothing more of this queue is started',
    params: oneQueue,
    answer: Queue,
  }),
  resumeQueue: route({
    method: 'POST',
    path: `${API}/queues/{queue}/resume`,
    access: 'operator',
    does: 'Tasks of this queue are started again',
    params: oneQueue,
    answer: Queue,
  }),

  listWorkers: route({
    method: 'GET',
    path: `${API}/workers`,
    access: 'read',
    does: 'Worker processes, and what is said of names under which nobody lives',
    answer: z.object({ workers: z.array(Worker).readonly(), absent: z.array(WorkerSetting).readonly() }),
  }),
  editWorker: route({
    method: 'PATCH',
    path: `${API}/workers/{name}`,
    access: 'operator',
    does: 'Enables, disables, ranks and tags a worker by its name',
    params: oneWorker,
    body: WorkerEdit,
    answer: WorkerSetting,
  }),
  createWorker: route({
    method: 'POST',
    path: `${API}/workers`,
    access: 'operator',
    does: 'Makes room for a worker on another machine. Its secret, or a code for it, is shown this once',
    body: NewWorkerInput,
    answer: NewWorkerAnswer,
    status: 201,
  }),
  enrolWorker: route({
    method: 'POST',
    path: `${API}/workers/enrol`,
    access: 'open',
    does: 'Exchanges the code of a worker for its secret, once',
    body: z.strictObject({ code: z.string().max(512) }),
    answer: Enrolled,
    status: 201,
  }),
  rotateWorker: route({
    method: 'POST',
    path: `${API}/workers/{name}/rotate`,
    access: 'operator',
    does: 'Makes another secret for a worker; the old one is good for the grace that is given',
    params: oneWorker,
    body: z.strictObject({ grace: Duration.default(0) }),
    answer: Enrolled,
    status: 201,
  }),
  removeWorker: route({
    method: 'DELETE',
    path: `${API}/workers/{name}`,
    access: 'operator',
    does: 'Ends the secrets of a worker and forgets what was said of its name; it is cut off within a second',
    params: oneWorker,
    answer: z.object({ removed: z.literal(true), secrets: z.number() }),
  }),
  listTags: route({
    method: 'GET',
    path: `${API}/tags`,
    access: 'read',
    does: 'Tags that workers carry, and those that tasks ask for and nobody has',
    answer: z.object({ tags: z.array(Tag).readonly() }),
  }),

  listLimits: route({
    method: 'GET',
    path: `${API}/limits`,
    access: 'read',
    does: 'Limits, with what they hold',
    answer: z.object({ limits: z.array(Limit).readonly() }),
  }),
  createLimit: route({
    method: 'POST',
    path: `${API}/limits`,
    access: 'operator',
    does: 'Makes a limit; one of that name must not be there',
    body: LimitInput,
    answer: Limit,
    status: 201,
  }),
  getLimit: route({
    method: 'GET',
    path: `${API}/limits/{name}`,
    access: 'read',
    does: 'A limit with its keys and its history',
    params: oneLimit,
    answer: LimitDetail,
  }),
  editLimit: route({
    method: 'PATCH',
    path: `${API}/limits/{name}`,
    access: 'operator',
    does: 'Changes a limit while everything runs; lowering drains',
    params: oneLimit,
    body: LimitEdit,
    answer: Limit,
  }),
  removeLimit: route({
    method: 'DELETE',
    path: `${API}/limits/{name}`,
    access: 'operator',
    does: 'Takes a limit away: nothing is held back by it any more',
    params: oneLimit,
    answer: Limit,
  }),
  pauseLimit: route({
    method: 'POST',
    path: `${API}/limits/{name}/pause`,
    access: 'operator',
    does: 'Nothing that takes from it, or from one key of it, starts for so long',
    params: oneLimit,
    body: LimitPause,
    answer: LimitDetail,
  }),

  sendSignal: route({
    method: 'POST',
    path: `${API}/signals`,
    access: 'operator',
    does: 'Wakes who waits on a channel, or is kept for who comes',
    body: SignalInput,
    answer: Signal,
  }),
  listApprovals: route({
    method: 'GET',
    path: `${API}/approvals`,
    access: 'read',
    does: 'Tasks that wait for somebody to decide, the oldest first',
    query: z.strictObject({ limit: Paging.limit }),
    answer: z.object({ approvals: z.array(Approval).readonly() }),
  }),
  decideApproval: route({
    method: 'POST',
    path: `${API}/approvals/{id}`,
    access: 'operator',
    does: 'Decides for a task that waits for it',
    params: oneTask,
    body: DecisionInput,
    answer: Decision,
  }),

  streamEvents: route({
    method: 'GET',
    path: `${API}/events`,
    access: 'read',
    does: 'What happens, as a stream. The id of a message is its number; Last-Event-ID or after= goes on behind it without gap or repeat',
    query: z.strictObject({
      after: digits(z.number().min(0)).optional().describe('Default: from now on'),
      task: several(z.string()),
      queue: several(z.string()),
      kind: several(z.enum(CHANGES)),
    }),
    answer: Event,
    stream: 'events',
  }),

  registerWorker: route({
    method: 'POST',
    path: '/workers/register',
    access: 'worker',
    does: 'A worker over HTTP begins a session (document 002)',
    body: RegisterInput,
    answer: Registered,
  }),
  beatWorker: route({
    method: 'POST',
    path: '/workers/{id}/heartbeat',
    access: 'worker',
    does: 'It lives, and keeps the leases that it names; hears of those that are lost or to be cancelled',
    params: oneSession,
    body: HeartbeatInput,
    answer: Heartbeat,
  }),
  claimSteps: route({
    method: 'POST',
    path: '/workers/{id}/claim',
    access: 'worker',
    does: 'Tasks to run, as soon as there are some; 204 when none came in time',
    params: oneSession,
    body: ClaimInput,
    answer: z.array(Step).readonly(),
  }),
  appendEvents: route({
    method: 'POST',
    path: '/steps/{id}/events',
    access: 'worker',
    does: 'Lines for the log of a task that it runs; repeats are harmless',
    params: oneTask,
    body: StepEventsInput,
    answer: z.object({ acked_seq: z.number() }),
  }),
  completeStep: route({
    method: 'POST',
    path: '/steps/{id}/complete',
    access: 'worker',
    does: 'How a task has ended; 409 LEASE_LOST when another one has it: stop',
    params: oneTask,
    body: CompleteInput,
    answer: Completed,
  }),

  rpcRoot: rpc('/', 'JSON-RPC 2.0 (document 003): nodes, leases, trees of tasks. Each method has its own role'),
  rpc: rpc('/rpc', 'The same'),
  rpcTasks: rpc('/tasks', 'The same'),
  rpcSystem: rpc('/system', 'The same'),

  listTokens: route({
    method: 'GET',
    path: `${API}/tokens`,
    access: 'admin',
    does: 'Tokens, without their texts',
    answer: z.object({ tokens: z.array(Token).readonly() }),
  }),
  createToken: route({
    method: 'POST',
    path: `${API}/tokens`,
    access: 'admin',
    does: 'Makes a token. Its text is shown this once',
    body: TokenInput,
    answer: NewToken,
    status: 201,
  }),
  rotateToken: route({
    method: 'POST',
    path: `${API}/tokens/{id}/rotate`,
    access: 'admin',
    does: 'Makes another token like it; the old one is good for the grace that is given',
    params: oneToken,
    body: z.strictObject({ grace: Duration.default(0) }),
    answer: NewToken,
    status: 201,
  }),
  revokeToken: route({
    method: 'DELETE',
    path: `${API}/tokens/{id}`,
    access: 'admin',
    does: 'Ends a token; connections that live by it are closed within a second',
    params: oneToken,
    answer: z.object({ revoked: z.literal(true) }),
  }),
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;
export type ParamsOf<N extends RouteName> = Params<(typeof ROUTES)[N]>;
export type QueryOf<N extends RouteName> = Query<(typeof ROUTES)[N]>;
export type BodyOf<N extends RouteName> = Body<(typeof ROUTES)[N]>;
export type AnswerOf<N extends RouteName> = Answer<(typeof ROUTES)[N]>;

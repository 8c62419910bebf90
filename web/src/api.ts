/** The client of the node, the types of its answers, and how errors read. */

import { Client } from '../../src/client/client.ts';
import type { AnswerOf } from '../../src/protocol/routes.ts';
import { parseExact } from './model/json.ts';

export type Task = AnswerOf<'listTasks'>['tasks'][number];
export type TaskDetail = AnswerOf<'getTask'>;
export type Attempt = TaskDetail['attempts'][number];
export type Explanation = AnswerOf<'explainTask'>;
export type Queue = AnswerOf<'listQueues'>['queues'][number];
export type Worker = AnswerOf<'listWorkers'>['workers'][number];
export type Limit = AnswerOf<'listLimits'>['limits'][number];
export type LimitDetail = AnswerOf<'getLimit'>;
export type Schedule = AnswerOf<'listSchedules'>['schedules'][number];
export type ScheduleDetail = AnswerOf<'getSchedule'>;
export type Pool = AnswerOf<'listPools'>['pools'][number];
export type PoolDecision = AnswerOf<'listPoolDecisions'>['decisions'][number];
export type PoolTicket = AnswerOf<'listPoolTickets'>['tickets'][number];
export type PoolChecked = AnswerOf<'checkPool'>;
export type Trigger = AnswerOf<'listTriggers'>['triggers'][number];
export type Firing = AnswerOf<'triggerHistory'>['history'][number];
export type Fire = NonNullable<Schedule['last']>;
export type Overview = AnswerOf<'overview'>;
export type FailureGroup = AnswerOf<'listFailures'>['groups'][number];
export type Histogram = AnswerOf<'countTasks'>;
export type WorkerGrant = NonNullable<AnswerOf<'getWorker'>['grant']>;
export type Handler = AnswerOf<'listHandlers'>['handlers'][number];
export type Cluster = AnswerOf<'getCluster'>;
/** The list may say in which state the machine is; a run that is read by itself does. */
export type Run = AnswerOf<'listRuns'>['runs'][number] & { readonly current?: string | undefined };
export type RunDetail = AnswerOf<'getRun'>;
export type RunWait = RunDetail['waits'][number];
export type RunStepDetail = AnswerOf<'getRunStep'>;
export type RunCheck = AnswerOf<'checkRun'>;
export type RunGraph = AnswerOf<'getRunGraph'>;
export type RunGraphNode = AnswerOf<'getRunGraphNode'>;
export type Budget = RunDetail['budgets'][number];
export type Me = AnswerOf<'me'>;
export type Upgrade = AnswerOf<'getUpgrade'>;
export type Credential = AnswerOf<'listCredentials'>['credentials'][number];
export type Artifact = AnswerOf<'listArtifacts'>['artifacts'][number];
export type AuditEntry = AnswerOf<'listAudit'>['entries'][number];
export type Token = AnswerOf<'listTokens'>['tokens'][number];
export type FeedEvent = AnswerOf<'streamEvents'>;

/** The cookie authenticates. The header proves that one of our pages asks: no other site can send it. */
const HEADERS = { 'x-leasehold-ui': '1' };

export const ownFetch: typeof fetch = (input, init) =>
  fetch(input, {
    ...init,
    credentials: 'same-origin',
    headers: { ...(init?.headers as Record<string, string>), ...HEADERS },
  });

const unreachableListeners = new Set<(error: Error | undefined) => void>();

export const client = new Client({
  url: location.origin,
  fetch: ownFetch,
  // Somebody is looking: an unreachable node is shown soon, and the stream comes back later.
  patienceMs: 4_000,
  streamPatienceMs: 24 * 3_600_000,
  onAway: (error) => {
    for (const listener of unreachableListeners) listener(error);
  },
});

export function onUnreachable(listener: (error: Error | undefined) => void): () => void {
  unreachableListeners.add(listener);
  return () => unreachableListeners.delete(listener);
}

/** A task with numbers exactly as the node wrote them, however large. */
export function exactTask(id: string, signal?: AbortSignal): Promise<TaskDetail> {
  const path = `tasks/${encodeURIComponent(id)}`;
  return exact(path, signal, (rest) => client.call('getTask', { params: { id }, ...rest }));
}

/** A run likewise. */
export function exactRun(id: string, signal?: AbortSignal): Promise<RunDetail> {
  const path = `runs/${encodeURIComponent(id)}`;
  return exact(path, signal, (rest) => client.call('getRun', { params: { id }, ...rest }));
}

/** A step of a run likewise. */
export function exactStep(id: string, task: string, key: string, signal?: AbortSignal): Promise<RunStepDetail> {
  const path = `runs/${encodeURIComponent(id)}/steps/${encodeURIComponent(key)}?task=${encodeURIComponent(task)}`;
  return exact(path, signal, (rest) => client.call('getRunStep', { params: { id, key }, query: { task }, ...rest }));
}

/** A node of a graph likewise. */
export function exactNode(id: string, node: string, signal?: AbortSignal): Promise<RunGraphNode> {
  const path = `runs/${encodeURIComponent(id)}/graph/nodes/${encodeURIComponent(node)}`;
  return exact(path, signal, (rest) => client.call('getRunGraphNode', { params: { id, node }, ...rest }));
}

async function exact<T>(
  path: string,
  signal: AbortSignal | undefined,
  ask: (rest: { readonly signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  const rest = signal === undefined ? {} : { signal };
  const headers = { accept: 'application/json' };
  const response = await ownFetch(`/api/v1/${path}`, { headers, ...rest }).catch(() => undefined);
  if (response?.ok) return parseExact(await response.text()) as T;
  // For a refusal the client makes the error.
  return ask(rest);
}

export function isRefusal(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as { readonly code?: string } | undefined)?.code ?? '');
}

/** The message of an error. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function hintOf(error: unknown): string | undefined {
  const { hint, code } = (error ?? {}) as { hint?: unknown; code?: unknown };
  // The hint of the catalogue is for the command line there.
  return typeof hint === 'string' && code !== 'UNAUTHENTICATED' ? hint : undefined;
}

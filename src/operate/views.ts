import { formatDuration } from '../core/duration.ts';
import type { Limit, Rate } from '../core/limits/limit.ts';
import type { WorkerGrant } from '../core/placement/worker-grant.ts';
import { isProtocolRange } from '../core/release/link-protocol.ts';
import { type UpgradePolicy, wishFor } from '../core/release/policy.ts';
import { isReleaseVersion } from '../core/release/release-version.ts';
import type { Reason, TaskState } from '../core/task/task.ts';
import type { AttemptRecord, LaneRules, LimitRecord, TaskRecord, WorkerRecord } from '../engine/records.ts';
import { plainInput } from '../flow/workflow/forked.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { AttemptView, LimitBounds, LimitView, RateView, TaskView, WorkerView } from '../protocol/views.ts';

export type * from '../protocol/views.ts';
export type { Reason, TaskState };

/** What the record alone does not tell. */
export interface ViewContext {
  readonly idOf: (task: { readonly task: number; readonly createdAt: number }) => string;
  readonly workerName: (worker: number) => string;
  /** Lease time as calendar time. */
  readonly calendarOf: (leaseTime: number) => number;
  readonly rulesOf: (lane: number) => LaneRules | undefined;
  /** The public ids of parents and roots. */
  readonly kin: ReadonlyMap<number, string>;
}

export function viewTask(record: TaskRecord, { idOf, workerName, calendarOf, rulesOf, kin }: ViewContext): TaskView {
  const [runId, parentId] = [kin.get(record.root ?? 0), kin.get(record.parent ?? 0)];
  const { state, reason, runAt, startedAt, finishedAt, holder, leaseUntil, cancelRequestedAt, unique } = record;
  const outcome = record.result === undefined ? undefined : readJson(record.result);
  return {
    id: idOf(record),
    queue: record.queue,
    handler: record.handler,
    state,
    ...(reason === 'none' ? {} : { reason }),
    input: plainInput(readJson(record.payload)),
    ...(outcome === undefined ? {} : state === 'completed' ? { result: outcome } : { error: outcome }),
    priority: record.priority,
    attempt: record.attempt,
    tries: record.tries,
    maxAttempts: record.maxTries,
    createdAt: record.createdAt,
    ...(runAt === undefined ? {} : { runAt }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(holder === undefined ? {} : { worker: workerName(holder) }),
    ...(leaseUntil === undefined ? {} : { leaseExpiresAt: calendarOf(leaseUntil) }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
    ...(unique === undefined ? {} : { unique }),
    ...(runId === undefined ? {} : { runId }),
    ...(parentId === undefined ? {} : { parentId }),
    ...viewRules(rulesOf(record.lane)),
  };
}

export function viewRules(
  rules: Pick<LaneRules, 'placement' | 'limits' | 'fairness'> | undefined,
): Pick<TaskView, 'placement' | 'limits' | 'fairness'> {
  if (rules === undefined) return {};
  const { placement, limits, fairness } = rules;
  return {
    ...(Object.keys(placement).length === 0 ? {} : { placement }),
    ...(limits.length === 0
      ? {}
      : {
          limits: limits.map(({ name, key, weight, cost }) => ({
            name,
            ...(key === undefined ? {} : { key }),
            ...(weight === 1 ? {} : { weight }),
            ...(cost === 0 ? {} : { cost }),
          })),
        }),
    ...(fairness === undefined ? {} : { fairness }),
  };
}

/** The past attempts, and the one that runs or ended the task, which is in the record of the task. */
export function viewAttempts(
  task: TaskRecord,
  attempts: readonly AttemptRecord[],
  { workerName }: Pick<ViewContext, 'workerName'>,
): readonly AttemptView[] {
  const past = attempts.map(({ attempt, holder, startedAt, endedAt, outcome, error }) => ({
    attempt,
    ...(holder === undefined ? {} : { worker: workerName(holder) }),
    ...(startedAt === undefined ? {} : { startedAt }),
    endedAt,
    outcome,
    ...(error === undefined ? {} : { error: readJson(error) }),
  }));
  const { state, attempt, holder, startedAt, finishedAt, result } = task;
  const waits = state === 'ready' || state === 'scheduled' || state === 'waiting';
  if (waits || attempt === 0 || past.some((one) => one.attempt === attempt)) return past;
  const own: AttemptView = {
    attempt,
    ...(holder === undefined ? {} : { worker: workerName(holder) }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { endedAt: finishedAt }),
    outcome: state,
    ...(state !== 'failed' || result === undefined ? {} : { error: readJson(result) }),
  };
  return [...past, own];
}

export function viewWorker(
  record: WorkerRecord,
  {
    id,
    tasks,
    grant,
    policy,
    calendarOf,
  }: {
    readonly id: string;
    readonly tasks: readonly string[];
    readonly grant: WorkerGrant;
    readonly policy: UpgradePolicy;
  } & Pick<ViewContext, 'calendarOf'>,
): WorkerView {
  const { name, enabled, slots, priority, tags, handlers, queues, version } = record;
  const { state, host, pid, address, status, metadata, startedAt, seenAt, totalTasks } = record;
  return {
    id,
    name,
    state,
    enabled,
    slots,
    running: tasks.length,
    priority,
    tags,
    handlers,
    ...(queues === undefined ? {} : { queues }),
    ...(Object.keys(grant).length === 0 ? {} : { grant }),
    ...(version === undefined ? {} : { version }),
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    ...(address === undefined ? {} : { address }),
    ...(status === undefined ? {} : { status }),
    ...figuresOf(name, metadata, policy),
    ...(startedAt === undefined ? {} : { startedAt }),
    lastSeenAt: calendarOf(seenAt),
    totalTasks,
    currentTasks: tasks,
  };
}

/** Workers of ours send their release as figures, those of others what they like. */
function figuresOf(
  name: string,
  metadata: string | undefined,
  policy: UpgradePolicy,
): Pick<WorkerView, 'release' | 'metrics'> {
  const release = releaseOf(name, metadata, policy);
  if (release !== undefined) return { release };
  return metadata === undefined ? {} : { metrics: readJson(metadata) };
}

/** The release that a worker has told, and the one that it should be. */
export function releaseOf(name: string, metadata: string | undefined, policy: UpgradePolicy): WorkerView['release'] {
  const told =
    metadata === undefined ? undefined : (readJson(metadata) as { release?: WorkerView['release'] } | null)?.release;
  if (typeof told?.version !== 'string' || !isProtocolRange(told.protocol)) return undefined;
  const { version, protocol, updater } = told;
  const program = isReleaseVersion(version) ? { name, version, protocol } : { name, protocol };
  const wanted = wishFor(policy, program)?.version;
  return {
    version,
    protocol,
    ...(updater === undefined ? {} : { updater }),
    ...(wanted === undefined ? {} : { wanted }),
  };
}

export function viewLimit({ limit, ...record }: LimitRecord): LimitView {
  const { name, active, waiting, revision, changedAt, changedBy } = record;
  return { name, ...viewBounds(limit), active, waiting, revision, changedAt, changedBy };
}

export function viewBounds({ concurrent, perKey, rate, cost, strategy, backlog }: Limit): LimitBounds {
  return {
    ...(concurrent === undefined ? {} : { concurrent }),
    ...(perKey === undefined ? {} : { perKey }),
    ...(rate === undefined ? {} : { rate: viewRate(rate) }),
    ...(cost === undefined ? {} : { cost: viewRate(cost) }),
    strategy,
    ...(backlog === undefined ? {} : { backlog }),
  };
}

function viewRate({ max, windowMs, burst, perKey }: Rate): RateView {
  return { max, window: formatDuration(windowMs), burst, perKey };
}

/** A store keeps JSON text; any other text is shown as it is. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** What the branch of a loop has that its base has not. */
export type LoopDiffView = AnswerOf<'diffLoop'>;

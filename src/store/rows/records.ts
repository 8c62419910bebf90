import type { NameHold } from '../../core/placement/name-hold.ts';
import { WORKER_STATES, type WorkerState } from '../../core/placement/worker.ts';
import { FIRE_OUTCOMES, type FireOutcome, type MissedPolicy } from '../../core/schedule/due.ts';
import { type FeedEvent, WORKER_CHANGES, type WorkerChange } from '../../core/task/event.ts';
import { CHANGES, type Change, REASONS, type Reason } from '../../core/task/task.ts';
import { OUTCOMES, stateOf } from '../codes.ts';
import type {
  AttemptRecord,
  AttemptWorker,
  EventPage,
  FireLine,
  PushAnswer,
  TriggerFiring,
  TriggerRecord,
  TriggerRun,
  TriggerView,
  WorkerRecord,
} from '../store.ts';

/** Records of the port from rows whose columns have the same names in every store. */

export interface WorkerRow {
  readonly id: number;
  readonly name: string;
  readonly incarnation: string;
  readonly state: number;
  readonly enabled: number | boolean;
  readonly slots: number;
  readonly tags: string;
  readonly beat_at: number;
  readonly host: string | null;
  readonly pid: number | null;
  readonly started_at: number | null;
  readonly handlers: string | null;
  readonly queues: string | null;
  readonly priority: number;
  readonly version: string | null;
  readonly revision: number;
  readonly status: string | null;
  readonly metadata: string | null;
  readonly address: string | null;
  readonly pool: string | null;
  readonly beat_ms: number | null;
  readonly stale_ms: number | null;
  readonly leaving_at: number | null;
  /** Tasks that all workers of its name have ended. */
  readonly total: number | null;
}

export function workerOf(row: WorkerRow): WorkerRecord {
  return {
    worker: row.id,
    name: row.name,
    incarnation: row.incarnation,
    state: WORKER_STATES[row.state] as WorkerState,
    slots: row.slots,
    tags: JSON.parse(row.tags) as string[],
    enabled: Boolean(row.enabled),
    seenAt: row.beat_at,
    startedAt: row.started_at ?? undefined,
    host: row.host ?? undefined,
    pid: row.pid ?? undefined,
    handlers: row.handlers === null ? [] : (JSON.parse(row.handlers) as string[]),
    queues: row.queues === null ? undefined : (JSON.parse(row.queues) as string[]),
    priority: row.priority,
    version: row.version ?? undefined,
    revision: row.revision,
    status: row.status ?? undefined,
    metadata: row.metadata ?? undefined,
    address: row.address ?? undefined,
    pool: row.pool ?? undefined,
    beatMs: row.beat_ms ?? undefined,
    staleMs: row.stale_ms ?? undefined,
    ...(row.leaving_at === null ? {} : { leaving: true }),
    totalTasks: row.total ?? 0,
  };
}

export interface TriggerRow {
  readonly name: string;
  readonly lane: number;
  readonly spec: number;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: string;
  readonly prio: number;
  readonly max_tries: number;
  readonly payload: string;
  readonly next_at: number;
  readonly held_at: number | null;
  readonly workflow: string | null;
  readonly run: string | null;
  readonly queue: string;
  readonly handler: string;
}

export interface FireRow {
  readonly n: number;
  readonly slot: number;
  readonly ends: number | null;
  readonly at: number;
  readonly outcome: number;
  readonly task: number | null;
}

/** With its newest line, if it has one. */
export interface TriggerViewRow extends TriggerRow, Omit<FireRow, 'n'> {
  readonly n: number | null;
}

/** Each store has its own encoding of priorities. */
export function triggerOf(row: TriggerRow, priority: number): TriggerRecord {
  const { name, lane, spec, cron, timezone, payload, queue, handler } = row;
  const missed = row.missed as MissedPolicy;
  const [maxTries, nextAt] = [row.max_tries, row.next_at];
  const heldAt = row.held_at ?? undefined;
  const { workflow, run } = row;
  return {
    name,
    lane,
    spec,
    cron,
    timezone,
    missed,
    priority,
    maxTries,
    payload,
    nextAt,
    heldAt,
    queue,
    handler,
    ...(workflow === null ? {} : { workflow }),
    ...(run === null ? {} : { run: JSON.parse(run) as TriggerRun }),
  };
}

export function triggerViewOf(row: TriggerViewRow, priority: number): TriggerView {
  const { n } = row;
  return { ...triggerOf(row, priority), last: n === null ? undefined : fireLineOf({ ...row, n }) };
}

export function fireLineOf(row: FireRow): FireLine {
  return {
    n: row.n,
    slot: row.slot,
    ends: row.ends ?? undefined,
    at: row.at,
    outcome: FIRE_OUTCOMES[row.outcome] as FireOutcome,
    task: row.task ?? undefined,
  };
}

/** A line without its number and time. */
export type NewFireLine = readonly [slot: number, ends: number | null, outcome: number, task: number | null];

/** The lines of a firing: what was skipped first, then each fire time. */
export function linesOf({ skipped, slots }: TriggerFiring, pushed: readonly PushAnswer[]): readonly NewFireLine[] {
  const fired = pushed.map((answer, i): NewFireLine => fireLine(slots[i] as number, 'fired', answer));
  if (skipped === undefined) return fired;
  return [[skipped.first, skipped.before, FIRE_OUTCOMES.indexOf('skipped'), null], ...fired];
}

export function fireLine(slot: number, outcome: FireOutcome, answer: PushAnswer): NewFireLine {
  return [slot, null, FIRE_OUTCOMES.indexOf(answer.ok ? outcome : 'refused'), answer.ok ? answer.task : null];
}

export interface AttemptRow {
  readonly attempt: number;
  readonly holder: number | null;
  readonly started_at: number | null;
  readonly ended_at: number;
  readonly outcome: number;
  readonly error: string | null;
}

export function attemptOf(row: AttemptRow): AttemptRecord {
  return {
    attempt: row.attempt,
    holder: row.holder ?? undefined,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at,
    outcome: OUTCOMES[row.outcome] as AttemptRecord['outcome'],
    error: row.error ?? undefined,
  };
}

export interface AttemptWorkerRow {
  readonly name: string;
  readonly host: string | null;
  readonly reason: number | null;
  readonly error: string | null;
}

export function attemptWorkerOf({ name, host, reason, error }: AttemptWorkerRow): AttemptWorker {
  return { name, host: host ?? undefined, reason: REASONS[reason ?? 0] as Reason, error: error ?? undefined };
}

export interface HoldRow {
  readonly holder: string;
  readonly process: string;
  readonly state: number;
  readonly beat_at: number;
  readonly node_ended: number | boolean;
}

/** `now` is lease time. */
export function holdOf({ holder, process, state, beat_at: beatAt, node_ended: ended }: HoldRow, now: number): NameHold {
  const name = WORKER_STATES[state] as WorkerState;
  return { holder, process, state: name, silentMs: now - beatAt, nodeEnded: Boolean(ended) };
}

/** One packed row of events. Attempts and creation times that are all the same are stored once. */
export interface EventRow {
  readonly seq: number;
  readonly n: number;
  readonly at: number;
  readonly queue: number;
  readonly kind: number;
  readonly state: number;
  readonly ids: readonly number[];
  readonly attempts: readonly number[];
  readonly born: readonly number[];
}

/** The first number of kinds that are events of workers. */
export const WORKER_KINDS = 100;

export function workerKind(change: WorkerChange): number {
  return WORKER_KINDS + WORKER_CHANGES.indexOf(change);
}

/** The workers that these rows are about. */
export function workersIn(rows: readonly EventRow[]): readonly number[] {
  return [...new Set(rows.flatMap(({ kind, ids }) => (kind < WORKER_KINDS ? [] : ids)))];
}

/** Whether some rows are about tasks, so that names of queues are needed. */
export function tellOfTasks(rows: readonly EventRow[]): boolean {
  return rows.some(({ kind }) => kind < WORKER_KINDS);
}

/** The rows with events above that number. Without new events only the newest row was read, and no names are needed. */
export function rowsAfter(rows: readonly EventRow[], after: number): readonly EventRow[] {
  return rows.filter(({ seq, n }) => seq > 0 && seq + n - 1 > after);
}

/** The names of the queues and workers in rows of events. */
export interface EventNames {
  readonly queues: ReadonlyMap<number, string>;
  readonly workers: ReadonlyMap<number, { readonly name: string; readonly host: string | null }>;
}

/** A page of events. The rows begin with the one that holds the number after `after`, or with the newest before it. */
export function pageOf(rows: readonly EventRow[], names: EventNames, after: number, limit: number): EventPage {
  const first = rows[0] as EventRow;
  const newest = rows.at(-1) as EventRow;
  const ahead = newest.seq + newest.n - 1 < after; // the store was restored from a backup
  if (ahead) return { events: [], reset: true, last: newest.seq + newest.n - 1 };
  const events: FeedEvent[] = [];
  for (const row of rows) {
    if (row.seq === 0) continue; // the founding row holds no event
    for (let i = Math.max(0, after + 1 - row.seq); i < row.n && events.length < limit; i++) {
      events.push(eventOf(row, i, names));
    }
    if (events.length >= limit) break;
  }
  return { events, reset: first.seq > after + 1, last: events.at(-1)?.seq ?? after };
}

function eventOf(row: EventRow, i: number, { queues, workers }: EventNames): FeedEvent {
  const common = { seq: row.seq + i, at: row.at, createdAt: (row.born[i] ?? row.born[0]) as number };
  const id = row.ids[i] as number;
  if (row.kind >= WORKER_KINDS) {
    const change = WORKER_CHANGES[row.kind - WORKER_KINDS] as WorkerChange;
    const { name = '', host } = workers.get(id) ?? {};
    return { ...common, change, worker: id, name, ...(host ? { host } : {}) };
  }
  return {
    ...common,
    queue: queues.get(row.queue) ?? '',
    change: CHANGES[row.kind] as Change,
    state: stateOf(row.state),
    task: id,
    attempt: (row.attempts[i] ?? row.attempts[0]) as number,
  };
}

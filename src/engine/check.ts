import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { MAX_ID } from '../core/ids.ts';
import { checkKey, checkName, checkWorkerId } from '../core/names.ts';
import { type HandlerSchema, MAX_SCHEMA_BYTES, MAX_SCHEMAS_BYTES, WORKER_STATES } from '../core/placement/worker.ts';
import { normalizeGrant, type WorkerGrant } from '../core/placement/worker-grant.ts';
import type { Lease } from '../core/task/lease.ts';
import { type LogEntry, STREAMS } from '../core/task/log.ts';
import { encodePayload, utf8Length } from '../core/task/payload.ts';
import { STATES } from '../core/task/task.ts';
import type { GrantChange, LogPlace, NewWorker, TaskQuery, WorkerBeat, WorkerSetting } from '../store/store.ts';

/**
 * Validation of everything that callers give to the engine, once, at its edge. Past it only the environment can make a call fail. Nothing
 * malformed reaches a store, where it would look like a bug of ours.
 */

/** A shorter lease is lost before anybody can act on it. A lease of more than a day says nothing about its holder. */
const MIN_LEASE_MS = 10;
const MAX_LEASE_MS = 24 * 3_600_000;
const MIN_RETENTION_MS = 1000;
const MAX_INTERVAL_MS = 3_600_000;
const MAX_SLOTS = 1_000_000;
/** Grants of one claim, and rows of one list: more in one answer would block the loop for too long. */
const MAX_ROWS = 1000;

/** The last moment that a JavaScript date can name. */
export const MAX_TIME = 8_640_000_000_000_000;
/** Processes and lines are counted in 32 bits by every store. */
export const MAX_COUNT = 2_147_483_647;
/** The text of one log line. */
const MAX_TEXT_BYTES = 65_536;

const LIST: ReadonlySet<string> = new Set([
  'queue',
  'states',
  'before',
  'handlers',
  'from',
  'until',
  'limit',
] satisfies (keyof TaskQuery)[]);
const WORKER: ReadonlySet<string> = new Set([
  'name',
  'incarnation',
  'slots',
  'tags',
  'host',
  'pid',
  'handlers',
  'queues',
  'priority',
  'version',
  'address',
  'pool',
  'beatMs',
  'staleMs',
  'told',
  'takes',
  // Not part of the worker's own record.
  'schemas',
  'ticket',
] satisfies (keyof NewWorker | 'schemas' | 'ticket')[]);
const SETTING: ReadonlySet<string> = new Set([
  'name',
  'enabled',
  'priority',
  'tags',
  'addTags',
  'removeTags',
  'grant',
] satisfies (keyof WorkerSetting)[]);
const GRANT: ReadonlySet<string> = new Set([
  'handlers',
  'queues',
  'slots',
  'permissions',
  'ownCredentials',
  'firstHandlers',
] satisfies (keyof GrantChange)[]);
const BEAT: ReadonlySet<string> = new Set([
  'worker',
  'state',
  'status',
  'metadata',
  'ended',
  'told',
] satisfies (keyof WorkerBeat)[]);
const METADATA = { field: 'metadata', maxBytes: 65_536 } as const;

/** Refuses anything but an object with these keys only. */
export function checkOptions(what: string, options: unknown, known: ReadonlySet<string>): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refuse(what, 'it must be an object');
  }
  for (const option in options) {
    if (known.has(option)) continue;
    const list = [...known].join(', ');
    throw fault('UNKNOWN_OPTION', { option, known: list }, { hint: `Check the spelling; the known ones are ${list}.` });
  }
}

export function whole(field: string, value: unknown, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw refuse(field, `it must be a whole number from ${min} to ${max}`);
}

/** The number of a task or a worker: stores count them from one. */
function isNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

export function checkTask(task: unknown): void {
  if (isNumber(task)) return;
  if (typeof task !== 'string') throw refuse('task', 'it must be the number of a task');
  throw fault(
    'INVALID_INPUT',
    { field: 'task', problem: 'it is a text, and must be the number of a task' },
    { hint: 'Turn a public id into its number with engine.parseId.' },
  );
}

/** On the path of every settle: a valid lease costs a few comparisons. Any integer may be an attempt; the fence decides. */
export function checkLease(lease: Lease): void {
  if (typeof lease !== 'object' || lease === null) {
    throw refuse('lease', 'it must be an object with a task and an attempt');
  }
  checkTask(lease.task);
  if (Number.isInteger(lease.attempt) && Math.abs(lease.attempt) <= MAX_ID) return;
  throw refuse('attempt', 'it must be the number of an attempt');
}

export function checkWorker(worker: unknown): number {
  if (isNumber(worker) && (worker as number) <= MAX_ID) return worker as number;
  throw refuse('worker', 'it must be the number that workers.register returned');
}

export function checkMax(max: unknown): number {
  return whole('max', max, 1, MAX_ROWS);
}

/** How long a worker may be silent. */
export function checkStaleMs(staleMs: Duration): number {
  return checkDuration('workerStaleMs', staleMs, MIN_LEASE_MS, MAX_LEASE_MS);
}

/** How often to look for work, or for expired leases. */
export function checkIntervalMs(field: string, ms: Duration): number {
  return checkDuration(field, ms, MIN_LEASE_MS, MAX_INTERVAL_MS);
}

export function checkLeaseMs(leaseMs: Duration): number {
  return checkDuration('leaseMs', leaseMs, MIN_LEASE_MS, MAX_LEASE_MS);
}

export function checkRetentionMs(retentionMs: Duration, field = 'retentionMs'): number {
  return checkDuration(field, retentionMs, MIN_RETENTION_MS);
}

/** A wait without an end is allowed: its signal may end it. */
export function checkWaitMs(waitMs: unknown): number {
  if (typeof waitMs === 'number' && waitMs >= 0) return waitMs;
  throw refuse('waitMs', 'it must be a number of milliseconds, 0 or more');
}

export function checkFlag(field: string, flag: unknown): void {
  if (flag !== undefined && typeof flag !== 'boolean') throw refuse(field, 'it must be true or false');
}

export function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw refuse('signal', 'it must be an AbortSignal');
}

export function checkList(field: string, list: unknown): void {
  if (!Array.isArray(list)) throw refuse(field, 'it must be an array');
}

/**
 * Log lines in a form that a store can keep. A task is not to blame for what it prints: characters that no store takes
 * are replaced, not refused.
 */
export function checkLogEntries(entries: unknown): readonly LogEntry[] {
  checkList('entries', entries);
  return (entries as readonly unknown[]).map((entry, i) => {
    if (typeof entry !== 'object' || entry === null) throw refuse('entries', `entry ${i} must be an object`);
    const { seq, at, stream, text } = entry as LogEntry;
    if (!STREAMS.includes(stream)) {
      throw refuse('stream', `${describe(stream)} is not one of ${STREAMS.join(', ')}`);
    }
    if (typeof text !== 'string') throw refuse('text', 'it must be a text');
    if (text.length * 3 > MAX_TEXT_BYTES && utf8Length(text) > MAX_TEXT_BYTES) {
      throw fault('TOO_LARGE', { field: 'text', maxBytes: MAX_TEXT_BYTES });
    }
    return {
      seq: whole('seq', seq, 1, MAX_COUNT),
      at: whole('at', at, 0, MAX_TIME),
      stream,
      text: text.toWellFormed().replaceAll('\u0000', '\ufffd'),
    };
  });
}

export function checkLogPlace(after: LogPlace | undefined): LogPlace | undefined {
  if (after === undefined) return undefined;
  if (typeof after !== 'object' || after === null) throw refuse('after', 'it must be an object with attempt and seq');
  return {
    attempt: whole('after.attempt', after.attempt, 0, Number.MAX_SAFE_INTEGER),
    seq: whole('after.seq', after.seq, 0, Number.MAX_SAFE_INTEGER),
  };
}

/** How many rows one answer may have. */
export function checkLimit(limit: unknown): number {
  return whole('limit', limit, 1, MAX_ROWS);
}

/** The names that a claim is limited to. Undefined: no limit. An empty list lets nothing through. */
export function checkNames(field: string, kind: string, names: unknown): ReadonlySet<string> | undefined {
  if (names === undefined) return undefined;
  checkList(field, names);
  for (const name of names as readonly unknown[]) checkName(kind, name);
  return new Set(names as readonly string[]);
}

export function checkQuery(query: TaskQuery): void {
  checkOptions('query', query, LIST);
  checkLimit(query.limit);
  if (query.queue !== undefined) checkName('queue', query.queue);
  if (query.before !== undefined) whole('before', query.before, 0, Number.MAX_SAFE_INTEGER);
  checkNames('handlers', 'handler', query.handlers);
  if (query.from !== undefined) whole('from', query.from, 0, Number.MAX_SAFE_INTEGER);
  if (query.until !== undefined) whole('until', query.until, 0, Number.MAX_SAFE_INTEGER);
  if (query.states === undefined) return;
  checkList('states', query.states);
  for (const state of query.states) {
    if (!STATES.includes(state)) throw refuse('states', `${describe(state)} is not one of ${STATES.join(', ')}`);
  }
}

function checkQueues(queues: unknown): readonly string[] {
  checkList('queues', queues);
  return (queues as readonly unknown[]).map((queue) => checkName('queue', queue));
}

/** The priority of a worker. */
function checkPriority(priority: unknown): number {
  return whole('priority', priority, -MAX_COUNT, MAX_COUNT);
}

export function checkWorkerSetting(setting: WorkerSetting): WorkerSetting {
  checkOptions('worker', setting, SETTING);
  const { enabled, priority } = setting;
  checkFlag('enabled', enabled);
  const tags = (field: 'tags' | 'addTags' | 'removeTags'): readonly string[] | undefined => {
    if (setting[field] !== undefined) checkList(field, setting[field]);
    return setting[field]?.map((tag) => checkKey(field, tag));
  };
  return {
    name: checkWorkerId('worker name', setting.name),
    enabled,
    priority: priority === undefined || priority === null ? priority : checkPriority(priority),
    tags: tags('tags'),
    addTags: tags('addTags'),
    removeTags: tags('removeTags'),
    ...(setting.grant === undefined ? {} : { grant: checkGrant(setting.grant) }),
  };
}

/** Null takes a bound away, and stays null. */
function checkGrant(change: GrantChange): GrantChange {
  checkOptions('grant', change, GRANT);
  const { firstHandlers, ...bounds } = change;
  const given = Object.entries(bounds).filter(([, value]) => value !== null && value !== undefined);
  const none = Object.entries(bounds).filter(([, value]) => value === null);
  const grant = normalizeGrant(Object.fromEntries(given) as WorkerGrant);
  const first =
    firstHandlers === undefined ? {} : { firstHandlers: normalizeGrant({ handlers: firstHandlers }).handlers };
  // Permissions that permit nothing are no permissions.
  const empty = change.permissions !== undefined && grant.permissions === undefined ? { permissions: null } : {};
  return { ...grant, ...first, ...Object.fromEntries(none), ...empty };
}

export function checkNewWorker(worker: Omit<NewWorker, 'tags'> & Partial<Pick<NewWorker, 'tags'>>): NewWorker {
  checkOptions('worker', worker, WORKER);
  const { tags = [], host, pid, handlers = [], queues, priority, version, address, told, takes } = worker;
  const { pool, beatMs, staleMs } = worker;
  checkList('tags', tags);
  checkList('handlers', handlers);
  checkFlag('told', told);
  return {
    name: checkName('worker', worker.name),
    incarnation: checkKey('incarnation', worker.incarnation),
    slots: whole('slots', worker.slots, 1, MAX_SLOTS),
    tags: tags.map((tag) => checkKey('tags', tag)),
    host: host === undefined ? undefined : checkKey('host', host),
    pid: pid === undefined ? undefined : whole('pid', pid, 0, MAX_COUNT),
    handlers: handlers.map((handler) => checkName('handler', handler)),
    ...(queues === undefined ? {} : { queues: checkQueues(queues) }),
    ...(priority === undefined ? {} : { priority: checkPriority(priority) }),
    ...(version === undefined ? {} : { version: checkKey('version', version) }),
    ...(address === undefined ? {} : { address: checkKey('address', address) }),
    ...(pool === undefined ? {} : { pool: checkKey('pool', pool) }),
    ...(beatMs === undefined ? {} : { beatMs: whole('beatMs', beatMs, 1, MAX_LEASE_MS) }),
    ...(staleMs === undefined ? {} : { staleMs: whole('staleMs', staleMs, 1, MAX_COUNT) }),
    ...(told === undefined ? {} : { told }),
    ...(takes === undefined ? {} : { takes }),
  };
}

/** Schemas of its own handlers only, one for each. As JSON they must pass the same checks as an input. */
export function checkSchemas(
  schemas: readonly HandlerSchema[] = [],
  handlers: readonly string[] = [],
): readonly HandlerSchema[] {
  checkList('schemas', schemas);
  const byHandler = new Map(schemas.map(({ handler, schema }) => [handler, readSchema(schema)]));
  const unknown = [...byHandler.keys()].find((handler) => !handlers.includes(handler));
  if (unknown !== undefined) throw refuse('schemas', `the worker does not offer the handler ${unknown}`);
  const bytes = byHandler.values().reduce((sum, schema) => sum + utf8Length(schema), 0);
  if (bytes > MAX_SCHEMAS_BYTES) throw fault('TOO_LARGE', { field: 'schemas', maxBytes: MAX_SCHEMAS_BYTES });
  return [...byHandler].map(([handler, schema]) => ({ handler, schema }));
}

function readSchema(text: string): string {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch {
    throw refuse('schemas', 'one of them is not JSON');
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw refuse('schemas', 'each must be the text of a JSON object');
  }
  return encodePayload(schema, { maxBytes: MAX_SCHEMA_BYTES, field: 'schemas' });
}

/** What a worker reports of itself. Its metadata is any JSON value of at most 64 KiB. */
export interface Beat extends Omit<WorkerBeat, 'metadata'> {
  readonly metadata?: unknown;
}

export function checkBeat(beat: Beat): WorkerBeat {
  checkOptions('beat', beat, BEAT);
  const { worker, state, status, metadata, ended, told } = beat;
  checkFlag('told', told);
  if (state !== undefined && ((state as string) === 'lost' || !WORKER_STATES.includes(state))) {
    throw refuse(
      'state',
      `${describe(state)} is not one of ${WORKER_STATES.filter((word) => word !== 'lost').join(', ')}`,
    );
  }
  return {
    worker: checkWorker(worker),
    state,
    status: status === undefined || status === null ? status : checkKey('status', status),
    metadata: metadata === undefined || metadata === null ? metadata : encodePayload(metadata, METADATA),
    ...(ended === undefined ? {} : { ended: whole('ended', ended, 0, MAX_COUNT) }),
    ...(told === undefined ? {} : { told }),
  };
}

export function checkDuration(field: string, value: Duration, minMs: number, maxMs = Number.POSITIVE_INFINITY): number {
  const ms = parseDuration(value, field);
  if (ms < minMs) throw refuse(field, `${ms} ms is less than ${minMs} ms`);
  if (ms > maxMs) throw refuse(field, `${ms} ms is more than ${maxMs} ms`);
  return ms;
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

function describe(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : `a value of type ${typeof value}`;
}

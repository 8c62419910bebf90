import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import { checkKey, checkName } from '../core/names.ts';
import { STATES } from '../core/task.ts';
import type { NewWorker, TaskQuery } from '../store/store.ts';

/**
 * What callers hand to the engine, looked at once, at its edge. Past it a call can only meet the world's faults: nothing
 * of the wrong form reaches a store, where it would come out as a defect of ours.
 */

/** A lease shorter than this is lost before anybody can act on it; a longer one than a day says nothing about its holder. */
const MIN_LEASE_MS = 10;
const MAX_LEASE_MS = 24 * 3_600_000;
const MIN_RETENTION_MS = 1000;
const MAX_SLOTS = 1_000_000;
/** Grants of one claim and rows of one list: more in one answer would hold the loop for too long. */
const MAX_ROWS = 1000;

const LIST: ReadonlySet<string> = new Set(['queue', 'states', 'before', 'limit'] satisfies (keyof TaskQuery)[]);
const WORKER: ReadonlySet<string> = new Set(['name', 'incarnation', 'slots', 'tags'] satisfies (keyof NewWorker)[]);

/** An object that has no other keys than these. */
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

/** Of a task or a worker: stores count them from one. */
function isNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

export function checkTask(task: unknown): void {
  if (isNumber(task)) return;
  if (typeof task !== 'string') throw refuse('task', 'it must be the number of a task');
  throw fault(
    'INVALID_INPUT',
    { field: 'task', problem: 'it is a text, and the engine knows tasks by their numbers' },
    { hint: 'Turn a public id into its number with engine.parseId.' },
  );
}

/** On the path of every settle: a few comparisons for a lease that is fine. Any whole number may be an attempt; the fence decides. */
export function checkLease(lease: Lease): void {
  if (typeof lease !== 'object' || lease === null) {
    throw refuse('lease', 'it must be an object with a task and an attempt');
  }
  checkTask(lease.task);
  if (Number.isSafeInteger(lease.attempt)) return;
  throw refuse('attempt', 'it must be the number of an attempt');
}

export function checkWorker(worker: unknown): number {
  if (isNumber(worker)) return worker as number;
  throw refuse('worker', 'it must be the number that registerWorker gave');
}

export function checkMax(max: unknown): number {
  return whole('max', max, 1, MAX_ROWS);
}

export function checkLeaseMs(leaseMs: Duration): number {
  return duration('leaseMs', leaseMs, MIN_LEASE_MS, MAX_LEASE_MS);
}

export function checkRetentionMs(retentionMs: Duration): number {
  return duration('retentionMs', retentionMs, MIN_RETENTION_MS);
}

/** A wait without an end is allowed: its signal may end it. */
export function checkWaitMs(waitMs: unknown): number {
  if (typeof waitMs === 'number' && waitMs >= 0) return waitMs;
  throw refuse('waitMs', 'it must be a number of milliseconds from 0 on');
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

/** The names that a claim is limited to; undefined is no limit, an empty list lets nothing through. */
export function checkNames(field: string, kind: string, names: unknown): ReadonlySet<string> | undefined {
  if (names === undefined) return undefined;
  checkList(field, names);
  for (const name of names as readonly unknown[]) checkName(kind, name);
  return new Set(names as readonly string[]);
}

export function checkQuery(query: TaskQuery): void {
  checkOptions('query', query, LIST);
  whole('limit', query.limit, 1, MAX_ROWS);
  if (query.queue !== undefined) checkName('queue', query.queue);
  if (query.before !== undefined) whole('before', query.before, 0, Number.MAX_SAFE_INTEGER);
  if (query.states === undefined) return;
  checkList('states', query.states);
  for (const state of query.states) {
    if (!STATES.includes(state)) throw refuse('states', `${describe(state)} is not one of ${STATES.join(', ')}`);
  }
}

export function checkNewWorker(worker: Omit<NewWorker, 'tags'> & Partial<Pick<NewWorker, 'tags'>>): NewWorker {
  checkOptions('worker', worker, WORKER);
  const { tags = [] } = worker;
  checkList('tags', tags);
  return {
    name: checkName('worker', worker.name),
    incarnation: checkKey('incarnation', worker.incarnation),
    slots: whole('slots', worker.slots, 1, MAX_SLOTS),
    tags: tags.map((tag) => checkKey('tags', tag)),
  };
}

function duration(field: string, value: Duration, minMs: number, maxMs = Number.POSITIVE_INFINITY): number {
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

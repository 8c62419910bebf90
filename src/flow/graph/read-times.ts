/** When a node starts runs by itself: our own fields, or those of dazflow's editor. */
import { parseDuration } from '../../core/duration.ts';
import { isEngineError } from '../../core/errors.ts';
import { MISSED_POLICIES, type MissedPolicy } from '../../core/schedule/due.ts';
import { expressionOf, type ScheduleTimes } from '../../core/schedule/expression.ts';
import { kindOf, type Value, type ValueMap } from '../expression/values.ts';
import type { Path, Problems } from '../machine/problems.ts';
import type { NodeTimes } from './definition.ts';

const OWN = ['cron', 'every', 'from', 'at', 'daily', 'weekly', 'monthly'] as const;
const UNITS: Readonly<Record<string, number>> = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 };
/** As that editor shows them where nothing is filled in. */
const INTERVAL = 5;
const CRON = '*/5 * * * *';

/** Undefined: it says nothing of the kind, or something wrong. */
export function readTimes(data: ValueMap, path: Path, problems: Problems): NodeTimes | undefined {
  const before = problems.all.length;
  const times = timesIn(data, path, problems);
  const timezone = textIn(data, 'timezone', path, problems) ?? 'UTC';
  const missed = data['missed'] ?? 'latest';
  if (!MISSED_POLICIES.includes(missed as MissedPolicy)) {
    problems.error([...path, 'missed'], `expected one of ${MISSED_POLICIES.join(', ')}`);
  }
  if (times === undefined) {
    if (problems.all.length === before) problems.warning(path, 'it says no time, so it starts no runs by itself');
    return undefined;
  }
  try {
    expressionOf(times, timezone);
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const { field, problem } = (error.details ?? {}) as { readonly field?: unknown; readonly problem?: unknown };
    const named = typeof field === 'string' && data[field] !== undefined;
    problems.error(named ? [...path, field as string] : path, typeof problem === 'string' ? problem : error.message);
    return undefined;
  }
  return problems.all.length === before ? { ...times, timezone, missed: missed as MissedPolicy } : undefined;
}

function timesIn(data: ValueMap, path: Path, problems: Problems): ScheduleTimes | undefined {
  const { mode, type } = data;
  if (mode === 'cron') return { cron: textIn(data, 'cron', path, problems) ?? CRON };
  if (mode === 'interval' || (mode === undefined && data['interval'] !== undefined))
    return intervalIn(data, path, problems);
  if (mode !== undefined) {
    problems.error([...path, 'mode'], 'expected "interval" or "cron"');
    return undefined;
  }
  if (type === 'timed') return timedIn(data, path, problems);
  const own = OWN.filter((field) => data[field] !== undefined && data[field] !== null && data[field] !== '');
  if (own.length === 0) return undefined;
  const times: Record<string, string> = {};
  for (const field of own) {
    const value = data[field];
    // A number of milliseconds, as a duration is one everywhere.
    if (field === 'every' && typeof value === 'number') times[field] = `${value}ms`;
    else times[field] = textIn(data, field, path, problems) ?? '';
  }
  return times;
}

function intervalIn(data: ValueMap, path: Path, problems: Problems): ScheduleTimes | undefined {
  const { interval = INTERVAL, unit = 'minutes' } = data;
  const length = typeof unit === 'string' ? UNITS[unit] : undefined;
  if (length === undefined) problems.error([...path, 'unit'], `expected one of ${Object.keys(UNITS).join(', ')}`);
  const count = typeof interval === 'string' && /^\d+(\.\d+)?$/.test(interval) ? Number(interval) : interval;
  if (typeof count !== 'number' || !(count > 0)) {
    problems.error([...path, 'interval'], `expected a number above 0, found ${kindOf(interval)}`);
    return undefined;
  }
  return length === undefined ? undefined : stepsOf(count * length, [...path, 'interval'], problems);
}

/** What a trigger of that program answers when it is registered. */
function timedIn(data: ValueMap, path: Path, problems: Problems): ScheduleTimes | undefined {
  const { trigger_at: at, interval_seconds: seconds } = data;
  if (data['cron'] !== undefined) return { cron: textIn(data, 'cron', path, problems) ?? CRON };
  if (typeof seconds === 'number') return stepsOf(seconds, [...path, 'interval_seconds'], problems);
  if (typeof at === 'string') return { at };
  if (typeof at === 'number' && at > 0 && at < 1e11) return { at: new Date(Math.round(at * 1000)).toISOString() };
  problems.error([...path, 'trigger_at'], `expected a time in seconds since 1970, or as a text, found ${kindOf(at)}`);
  return undefined;
}

function stepsOf(seconds: number, path: Path, problems: Problems): ScheduleTimes | undefined {
  try {
    return { every: `${parseDuration(Math.round(seconds * 1000), 'interval')}ms` };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    problems.error(path, 'it is too long');
    return undefined;
  }
}

function textIn(data: ValueMap, field: string, path: Path, problems: Problems): string | undefined {
  const value: Value = data[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  problems.error([...path, field], `expected a text, found ${kindOf(value)}`);
  return undefined;
}

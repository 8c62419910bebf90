import { z } from 'zod';
import { parseDuration } from '../../../core/duration.ts';
import { normalizeUses } from '../../../core/limits/limit.ts';
import { checkName } from '../../../core/names.ts';
import { normalizeFairness } from '../../../core/placement/lane.ts';
import { normalizePermissions } from '../../../core/placement/permissions.ts';
import { normalizePlacement, type PlacementInput } from '../../../core/placement/placement.ts';
import { expressionOf, timesOf } from '../../../core/schedule/expression.ts';
import type { Entry } from '../../../core/settings/compare.ts';
import { DEFAULT_MAX_TRIES, normalizeRetry, type RetryInput } from '../../../core/task/retry.ts';
import type { RequestOf } from '../../../protocol/paths.ts';
import { ScheduleInput } from '../../../protocol/shapes/schedule.ts';
import { type ScheduleDetailView, viewRules } from '../../views.ts';
import { inShape, plain } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

const Schedule = ScheduleInput.omit({ name: true }).extend({ paused: z.boolean().default(false) });

/** Schedules. Those of stored workflows belong to them. */
export const SCHEDULES: SettingsKind = {
  word: 'schedules',

  read(name, value) {
    checkName('schedule', name);
    const given = inShape(Schedule, `schedules.${name}`, value);
    const {
      cron,
      every,
      from,
      at,
      daily,
      weekly,
      monthly,
      timezone = 'UTC',
      missed,
      placement,
      limits,
      fairness,
      ...task
    } = given;
    const rules = viewRules({
      placement: normalizePlacement((placement ?? {}) as PlacementInput),
      limits: normalizeUses((limits ?? []) as never),
      fairness: fairness === undefined ? undefined : normalizeFairness(fairness as never),
    });
    const { retry, timeout, permissions, handler = task.queue, ...rest } = task;
    return entryOf({
      ...rest,
      handler,
      times: timesOf(expressionOf({ cron, every, from, at, daily, weekly, monthly }, timezone)),
      timezone,
      missed: missed ?? 'latest',
      rules,
      retry: normalizeRetry((retry ?? {}) as RetryInput),
      timeout: timeout === undefined ? undefined : parseDuration(timeout, 'timeout'),
      permissions: permissions === undefined ? undefined : normalizePermissions(permissions),
    });
  },

  async list(caller) {
    const { schedules } = await caller.call('listSchedules');
    const found = new Map<string, Entry>();
    for (const { name, workflow } of schedules)
      if (workflow === undefined) found.set(name, entryOfView(await caller.call('getSchedule', { params: { name } })));
    return found;
  },

  async put(caller, { name, wanted, is, by }) {
    const { paused, ...body } = wanted;
    await caller.call('putSchedule', { body: { ...body, name } as RequestOf<'putSchedule'>, by });
    if ((paused === true) !== (is?.['paused'] === true))
      await caller.call(paused === true ? 'pauseSchedule' : 'resumeSchedule', { params: { name }, by });
    return undefined;
  },

  remove: (caller, name, by) => caller.call('removeSchedule', { params: { name }, by }),
};

function entryOfView(view: ScheduleDetailView): Entry {
  const { queue, handler, input, priority, maxAttempts, times, timezone, missed, state } = view;
  const { placement, limits, fairness, retry, timeout, permissions } = view;
  return entryOf({
    queue,
    handler,
    input,
    priority,
    maxAttempts,
    times,
    timezone,
    missed,
    rules: { placement, limits, fairness },
    retry: retry as object,
    timeout,
    permissions: permissions as object,
    paused: state === 'paused',
  });
}

interface Parts {
  readonly queue: string;
  readonly handler: string;
  readonly input?: unknown;
  readonly priority?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly times: object;
  readonly timezone: string;
  readonly missed: string;
  readonly rules: object;
  readonly retry?: object | undefined;
  readonly timeout?: number | undefined;
  readonly permissions?: object | undefined;
  readonly paused?: boolean | undefined;
}

/** Without what has its default. */
function entryOf({ queue, handler, times, rules, timezone, missed, ...rest }: Parts): Entry {
  const { input, priority = 0, maxAttempts = DEFAULT_MAX_TRIES, retry, timeout, permissions, paused } = rest;
  const isDefault = JSON.stringify(retry ?? normalizeRetry({})) === JSON.stringify(normalizeRetry({}));
  return plain({
    queue,
    ...(handler === queue ? {} : { handler }),
    ...times,
    ...(timezone === 'UTC' ? {} : { timezone }),
    ...(missed === 'latest' ? {} : { missed }),
    ...(input === undefined || input === null ? {} : { input }),
    ...(priority === 0 ? {} : { priority }),
    ...(maxAttempts === DEFAULT_MAX_TRIES ? {} : { maxAttempts }),
    ...rules,
    ...(isDefault ? {} : { retry }),
    timeout,
    permissions,
    ...(paused === true ? { paused } : {}),
  });
}

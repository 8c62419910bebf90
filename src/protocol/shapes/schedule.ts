import { z } from 'zod';
import { type FireOutcome, MISSED_POLICIES, type MissedPolicy } from '../../core/schedule/due.ts';
import { Duration, Json, TaskState, Time, word } from './common.ts';
import { Task, TaskInput } from './task.ts';

const text = (what: string): z.ZodOptional<z.ZodString> => z.string().max(200).optional().describe(what);

const TIMES = {
  cron: text('Five fields, or six with the second first: 0 9 * * mon-fri'),
  every: Duration.optional().describe('Steps of the same length, at least a second'),
  from: text('Where the steps begin; default 1970, so that 15m means each quarter of an hour'),
  at: text('Once: an instant, or a local time in the zone'),
  daily: text('09:30'),
  weekly: text('mon,wed@09:30'),
  monthly: text('1,15@09:30, or last@09:30'),
};

export const ScheduleInput = TaskInput.pick({
  queue: true,
  handler: true,
  input: true,
  priority: true,
  maxAttempts: true,
  retry: true,
  timeout: true,
  placement: true,
  limits: true,
  fairness: true,
  permissions: true,
})
  .extend({
    name: z.string(),
    ...TIMES,
    timezone: z.string().max(100).optional().describe('An IANA name; default UTC'),
    missed: z
      .enum(MISSED_POLICIES)
      .optional()
      .describe('What becomes of fire times that passed while nobody could fire them; default latest'),
  })
  .meta({ id: 'ScheduleInput' });

/** Times that somebody is still writing. */
export const ScheduleTimesInput = z.strictObject({
  ...TIMES,
  every: z.string().max(40).optional(),
  timezone: z.string().max(100).optional(),
});

export const Fire = z
  .object({
    slot: Time.describe('The fire time'),
    before: Time.optional().describe('Of skipped fire times: all from slot on and before this'),
    at: Time.describe('When it was fired'),
    outcome: word<FireOutcome>().describe('fired, skipped, refused by a limit, or run: somebody asked for it'),
    task: z.string().optional().describe('The id of its task, until that is pruned'),
    state: TaskState.optional().describe('The state of its task'),
  })
  .meta({ id: 'Fire' });

export const Schedule = z
  .object({
    name: z.string(),
    queue: z.string(),
    handler: z.string(),
    input: Json,
    priority: z.number(),
    maxAttempts: z.number(),
    times: z.object({ ...TIMES, every: z.string().optional() }).describe('One of them, and from beside every'),
    timezone: z.string(),
    missed: word<MissedPolicy>(),
    state: word<'active' | 'paused' | 'ended'>().describe('ended: no fire time is left'),
    nextAt: Time.optional(),
    last: Fire.optional(),
    workflow: z.string().optional().describe('The stored workflow that it belongs to, and changes with'),
  })
  .meta({ id: 'Schedule' });

export const ScheduleDetail = Schedule.extend({
  next: z
    .array(Time)
    .readonly()
    .describe('Its next fire times; of a paused one those that it would have if it were resumed now'),
  placement: Task.shape.placement,
  limits: Task.shape.limits,
  fairness: Task.shape.fairness,
  retry: Json.optional(),
  timeout: z.number().optional().describe('In milliseconds'),
  permissions: Json.optional(),
  history: z.array(Fire).readonly().describe('What became of its last fire times, the newest first'),
}).meta({ id: 'ScheduleDetail' });

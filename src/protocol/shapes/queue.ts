import { z } from 'zod';
import { PER_SWEEP } from '../defaults.ts';
import { Paging } from './common.ts';

export const Queue = z
  .object({
    name: z.string(),
    paused: z.boolean(),
    ready: z.number(),
    running: z.number(),
    scheduled: z.number(),
    waiting: z.number(),
    completed: z.number(),
    failed: z.number(),
    cancelled: z.number(),
  })
  .meta({ id: 'Queue' });

/** The figures that an autoscaler reads. */
export const Scale = z
  .object({
    runnable: z.number().describe('Ready tasks that neither a limit nor a pause holds back'),
    running: z.number(),
    blocked_by_limit: z.number().describe('Ready tasks that limits hold back'),
    oldest_age_s: z.number().describe('How long the oldest of the runnable ones has been ready; 0: there are none'),
    desired: z.number().describe('Slots that the queue could use now: running and runnable'),
  })
  .meta({ id: 'Scale' });

const ENDED = ['failed', 'cancelled', 'completed'] as const;

/** A change to many tasks of a queue, some at a time. */
const Sweep = z.strictObject({
  dryRun: z.boolean().default(false).describe('Only say how many there are'),
  expected: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('The number that a dry run answered: refused when there are more. Required except for a dry run'),
  limit: z.number().int().min(1).max(5000).default(PER_SWEEP).describe('How many tasks to change in this call'),
  cursor: Paging.cursor.describe('The cursor of the call before; nothing else is needed then'),
});

export const PurgeInput = Sweep;
export const RetryInput = Sweep.extend({
  states: z.array(z.enum(ENDED)).min(1).describe('The states to retry'),
});

const swept = {
  queue: z.string(),
  found: z.number().describe('How many there were before this call'),
  dryRun: z.boolean(),
  cursor: z.string().optional().describe('There may be more: call again with it'),
};

export const Purged = z.object({
  ...swept,
  cancelled: z.number(),
  asked: z.number().describe('Claimed meanwhile: their workers are asked to stop'),
});

export const Retried = z.object({ ...swept, retried: z.number() });

import { z } from 'zod';

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

export const PurgeInput = z.strictObject({
  atMost: z.number().int().min(0).optional().describe('More than so many are not cancelled: 409 when there are'),
  dryRun: z.boolean().default(false).describe('Only say how many wait'),
});

export const Purged = z.object({
  queue: z.string(),
  waiting: z.number().describe('Before'),
  cancelled: z.number(),
  asked: z.number().describe('Were claimed at that moment, and are asked to stop'),
  dryRun: z.boolean(),
});

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

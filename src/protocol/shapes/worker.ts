import { z } from 'zod';
import type { WorkerState } from '../../core/placement/worker.ts';
import { Time, word } from './common.ts';

/** A worker process that has registered. */
export const Worker = z
  .object({
    id: z.string(),
    name: z.string(),
    state: word<WorkerState>(),
    enabled: z.boolean(),
    slots: z.number(),
    running: z.number(),
    priority: z.number().describe('Higher ones are given work first'),
    tags: z.array(z.string()).readonly(),
    handlers: z.array(z.string()).readonly(),
    queues: z.array(z.string()).readonly().optional(),
    version: z.string().optional(),
    host: z.string().optional(),
    pid: z.number().optional(),
    address: z.string().optional().describe('Where a server has seen it come from'),
    startedAt: Time.optional(),
    lastSeenAt: Time,
    totalTasks: z.number().describe('Tasks that all who came under its name have ended'),
    currentTasks: z.array(z.string()).readonly().describe('What it has now'),
  })
  .meta({ id: 'Worker' });

/** The settings of a worker's name. They hold for the workers that have it now and for those that come. */
export const WorkerSetting = z
  .object({
    name: z.string(),
    enabled: z.boolean(),
    priority: z.number().optional(),
    tags: z.array(z.string()).readonly(),
    workers: z.number().describe('Processes that live under the name'),
    running: z.number(),
  })
  .meta({ id: 'WorkerSetting' });

export const WorkerDetail = WorkerSetting.extend({
  carries: z
    .array(z.string())
    .readonly()
    .describe('All tags of those that live under the name, also the ones that they bring'),
  processes: z.array(Worker).readonly().describe('All that are kept of this name, the newest first'),
}).meta({ id: 'WorkerDetail' });

export const WorkerEdit = z.strictObject({
  enabled: z.boolean().optional(),
  priority: z.number().int().nullable().optional().describe('Null: its own again'),
  addTags: z.array(z.string()).max(100).optional(),
  removeTags: z.array(z.string()).max(100).optional(),
});

export const Tag = z
  .object({
    tag: z.string(),
    workers: z.number(),
    names: z.array(z.string()).readonly(),
    wantedBy: z.array(z.string()).readonly().describe('Queues with ready tasks that ask for it'),
  })
  .meta({ id: 'Tag' });

export const NewWorkerInput = z.strictObject({
  name: z.string(),
  tags: z.array(z.string()).max(100).default([]).describe('What it may carry; it can say less of itself, never more'),
  priority: z.number().int().optional(),
  code: z.boolean().default(false).describe('A code that is good once, for ten minutes, instead of the secret itself'),
});

/** The secret or the code is shown once and not stored. */
export const NewWorkerAnswer = WorkerSetting.extend({
  secret: z.string().optional(),
  code: z.string().optional(),
  join: z.string().describe('What to say on the other machine'),
});

export const Enrolled = z.object({ name: z.string(), secret: z.string() });

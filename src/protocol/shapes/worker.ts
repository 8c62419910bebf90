import { z } from 'zod';
import type { WorkerState } from '../../core/placement/worker.ts';
import { Json, Time, word } from './common.ts';
import { WorkerRelease } from './release.ts';
import { PermissionsInput } from './task.ts';

const names = z.array(z.string()).max(1000);

/** What was granted to a worker's name. */
const granted = {
  handlers: names.describe('The handlers that it may run'),
  queues: names.describe('The queues that it may serve'),
  slots: z.number().int().min(1).max(10_000).describe('The most tasks at a time'),
  permissions: PermissionsInput,
  ownCredentials: z.boolean().describe('Whether credentials that it says it has by itself count'),
};

const WorkerGrant = z
  .object({
    handlers: granted.handlers.readonly().optional(),
    anyHandler: z.literal(true).optional().describe('It may run every handler that it offers'),
    queues: granted.queues.readonly().optional(),
    slots: granted.slots.optional(),
    permissions: granted.permissions.readonly().optional(),
    ownCredentials: granted.ownCredentials.optional(),
  })
  .readonly();

/** A worker process that has registered. */
export const Worker = z
  .object({
    id: z.string(),
    name: z.string(),
    state: word<WorkerState>(),
    enabled: z.boolean(),
    slots: z.number(),
    running: z.number(),
    priority: z.number().describe('Workers with a higher priority get work first'),
    tags: z.array(z.string()).readonly(),
    handlers: z.array(z.string()).readonly(),
    queues: z.array(z.string()).readonly().optional(),
    grant: WorkerGrant.optional().describe('What was granted to its name; absent: nothing was bounded or permitted'),
    version: z.string().optional(),
    host: z.string().optional(),
    pid: z.number().optional(),
    address: z.string().optional().describe('The address that a server has seen it come from'),
    status: z.string().optional().describe('Its own word for it, if it sends one with its heartbeats'),
    metrics: Json.optional().describe('The figures that it sent with its last heartbeat that had some'),
    release: WorkerRelease.optional().describe('Its release, where it has told one'),
    startedAt: Time.optional(),
    lastSeenAt: Time,
    totalTasks: z.number().describe('Tasks that all workers of this name have ended'),
    currentTasks: z.array(z.string()).readonly().describe('The tasks that it holds now'),
  })
  .meta({ id: 'Worker' });

/** The settings of a worker's name. They hold for the workers that have it now and for those that come. */
export const WorkerSetting = z
  .object({
    name: z.string(),
    enabled: z.boolean(),
    priority: z.number().optional(),
    tags: z.array(z.string()).readonly(),
    grant: WorkerGrant.optional().describe(
      'What was granted to the name. Queues and slots that are absent set no bound; handlers that are absent are decided when it first joins',
    ),
    workers: z.number().describe('Worker processes with this name'),
    running: z.number(),
  })
  .meta({ id: 'WorkerSetting' });

export const WorkerDetail = WorkerSetting.extend({
  carries: z
    .array(z.string())
    .readonly()
    .describe('All tags of the workers with this name, also those that they bring'),
  processes: z.array(Worker).readonly().describe('All processes of this name that are kept, the newest first'),
}).meta({ id: 'WorkerDetail' });

export const WorkerEdit = z.strictObject({
  enabled: z.boolean().optional(),
  priority: z.number().int().nullable().optional().describe('Null: the worker has its own again'),
  addTags: z.array(z.string()).max(100).optional(),
  removeTags: z.array(z.string()).max(100).optional(),
  handlers: granted.handlers.nullable().optional().describe('The handlers that it may run; null: any'),
  queues: granted.queues.nullable().optional().describe('The queues that it may serve; null: all'),
  slots: granted.slots.nullable().optional().describe('The most tasks at a time; null: 1000'),
  permissions: granted.permissions.nullable().optional().describe('What its tasks may do to others; null: nothing'),
  ownCredentials: granted.ownCredentials.optional(),
});

export const NewWorkerInput = z.strictObject({
  name: z.string(),
  tags: z.array(z.string()).max(100).default([]).describe('The tags that it may carry; it may have fewer, never more'),
  priority: z.number().int().optional(),
  handlers: granted.handlers
    .nullable()
    .optional()
    .describe('The handlers that it may run; null: any; default: those that it offers when it first joins'),
  queues: granted.queues.optional().describe('The queues that it may serve; default: all'),
  slots: granted.slots.optional().describe('The most tasks at a time; default 1000'),
  permissions: granted.permissions
    .optional()
    .describe('What its tasks may do to others; default: spawn what it runs, in the same queue'),
  code: z.boolean().default(false).describe('A code that works once, within ten minutes, instead of the secret itself'),
});

/** The secret or the code is shown once and not stored. */
export const NewWorkerAnswer = WorkerSetting.extend({
  secret: z.string().optional(),
  code: z.string().optional(),
  join: z.string().describe('The command to run on the other host'),
});

export const Enrolled = z.object({ name: z.string(), secret: z.string() });

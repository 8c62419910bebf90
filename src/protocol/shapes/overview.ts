import { z } from 'zod';
import { Time } from './common.ts';

/** Why so many ready tasks wait; the largest group comes first. */
const Held = z.object({
  why: z
    .enum(['limit', 'placement', 'paused', 'busy', 'nobody'])
    .describe(
      'limit: it is full. placement: no worker fits. paused: their queue is paused. busy: all slots are in use. nobody: no worker is online',
    ),
  name: z
    .string()
    .optional()
    .describe('The limit or the queue; for a placement the first requirement that no worker meets'),
  tasks: z.number(),
  text: z.string().describe('As people say it: 9 need tag gpu, which no worker has'),
});

/** One figure for each step of time, the oldest first. Null: nothing is known of that step. */
const Series = z.array(z.number().nullable()).readonly();

const Incident = z.object({
  at: Time,
  seq: z.number(),
  kind: z.enum(['lease expired', 'failed', 'worker lost', 'leader changed', 'requirement unmet']),
  text: z.string(),
  task: z.string().optional(),
  worker: z.string().optional(),
});

/** The whole cluster at a glance. */
export const Overview = z
  .object({
    at: Time,
    health: z.enum(['well', 'attention', 'trouble']),
    sentence: z.string().describe('The state of the cluster, in one sentence'),
    workers: z.object({ online: z.number(), draining: z.number(), disabled: z.number(), offline: z.number() }),
    slots: z.object({ all: z.number(), busy: z.number() }),
    tasks: z.object({
      ready: z.number(),
      running: z.number(),
      scheduled: z.number(),
      waiting: z.number(),
      completed: z.number(),
      failed: z.number(),
      cancelled: z.number(),
    }),
    held: z.array(Held).readonly(),
    oldestAgeMs: z.number().describe('How long the oldest ready task has waited; 0: there is none'),
    approvals: z.number().describe('Tasks that wait for a decision'),
    leader: z.string().optional(),
    incidents: z.array(Incident).readonly().describe('The newest first'),
    series: z.object({
      stepMs: z.number(),
      until: Time.describe('Of the last figure'),
      completed: Series.describe('A second'),
      failed: Series.describe('A second'),
      waiting: Series.describe('Ready tasks'),
      running: Series,
      ageMs: Series.describe('Of the oldest ready task'),
    }),
  })
  .meta({ id: 'Overview' });

/** How many tasks were created when. */
export const Histogram = z
  .object({
    from: Time,
    until: Time,
    stepMs: z.number(),
    buckets: z
      .array(
        z.object({
          ready: z.number(),
          running: z.number(),
          scheduled: z.number(),
          waiting: z.number(),
          completed: z.number(),
          failed: z.number(),
          cancelled: z.number(),
        }),
      )
      .readonly(),
    counted: z.number(),
    cut: z.boolean().describe('There are more: only the newest were counted'),
  })
  .meta({ id: 'Histogram' });

/** Failed tasks whose errors differ only in numbers, ids and quoted words. */
export const FailureGroup = z
  .object({
    fingerprint: z.string(),
    message: z.string().describe('Of the newest of them'),
    pattern: z.string().describe('What they have in common'),
    tasks: z.number(),
    firstAt: Time,
    lastAt: Time,
    queues: z.array(z.string()).readonly(),
    handlers: z.array(z.string()).readonly(),
    ids: z.array(z.string()).readonly().describe('The newest of them, at most 500'),
  })
  .meta({ id: 'FailureGroup' });

export const Failures = z.object({
  groups: z.array(FailureGroup).readonly().describe('The largest groups first'),
  looked: z.number().describe('Failed tasks that were read'),
  cut: z.boolean().describe('There are more: only the newest were read'),
});

/** A handler that tasks can be pushed for, and the form of its input. */
export const HandlerInfo = z
  .object({
    name: z.string(),
    workers: z.number().describe('Worker processes that offer it'),
    queues: z.array(z.string()).readonly().describe('Queues that have tasks for it'),
    schema: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('JSON Schema of its input, where that is known and the workers that offer it agree'),
    disagreement: z
      .array(z.object({ workers: z.array(z.string()).readonly(), schema: z.record(z.string(), z.unknown()) }))
      .readonly()
      .optional()
      .describe('The different schemas that workers tell, where they do not agree'),
  })
  .meta({ id: 'HandlerInfo' });

/** A filter that somebody has saved under a name. */
export const SavedView = z
  .object({
    name: z.string(),
    screen: z.string().describe('Which list it is of: tasks, events, …'),
    query: z.string().describe('As in the address of the page, without the question mark'),
    by: z.string(),
    savedAt: Time,
  })
  .meta({ id: 'SavedView' });

export const SavedViewInput = z.strictObject({
  name: z.string().min(1).max(100),
  screen: z.string().regex(/^[a-z]{1,30}$/),
  query: z.string().max(2000),
});

/** The caller and the node. */
export const Me = z
  .object({
    name: z.string(),
    role: z.enum(['admin', 'operator', 'read', 'worker']),
    node: z.object({ version: z.string(), address: z.string(), store: z.string(), startedAt: Time }),
    settings: z.object({ leaseMs: z.number(), retentionMs: z.number(), workerStaleMs: z.number() }),
  })
  .meta({ id: 'Me' });

/** What lets a browser in: the code of a login link, or a token. */
export const LoginInput = z.union([z.strictObject({ code: z.string() }), z.strictObject({ token: z.string() })]);
export const LoginAnswer = z.object({ name: z.string(), role: z.string() });
/** A link that works once, for ten minutes; made by a caller that is logged in. */
export const LoginLink = z.object({ url: z.string(), expiresAt: Time });

import { z } from 'zod';
import { AFTER_FAILURE } from '../../core/graph/graph.ts';
import type { Stream } from '../../core/task/log.ts';
import type { CancelAct, Change, Reason, RetryAct } from '../../core/task/task.ts';
import { Duration, Json, TaskState, Time, tally, word } from './common.ts';

export const PlacementInput = z
  .strictObject({
    requires: z
      .array(z.string())
      .optional()
      .describe('Tests of tags that must all pass: gpu, gpu=nvidia, memory_gb>=16'),
    handlers: z.array(z.string()).optional().describe('Handlers that the worker must also offer'),
    credentials: z.array(z.string()).optional().describe('Credentials that it must hold'),
    only: z.array(z.string()).optional().describe('One of these workers'),
    never: z.array(z.string()).optional().describe('None of these; wins over only'),
    maxPerWorker: z.number().optional(),
    version: z.string().optional().describe('A range of versions: >=1.4 <2'),
    prefer: z.array(z.strictObject({ tag: z.string(), weight: z.number().optional() })).optional(),
    affinity: z.string().optional().describe('The worker that ran a task with this key last is preferred'),
  })
  .meta({ id: 'PlacementInput' });

export const LimitUse = z.strictObject({
  name: z.string(),
  key: z.string().optional(),
  weight: z.number().optional(),
  cost: z.number().optional(),
});

const patterns = z.array(z.string()).max(100).readonly().optional();

export const PermissionsInput = z
  .strictObject({
    handlers: patterns.describe('Handlers of its children. * does not stand for shell, js and http: name them'),
    queues: patterns.describe('Queues of its children'),
    tags: patterns.describe('Tags that its children may require of a worker'),
    workers: patterns.describe('Workers that its children may ask for by name'),
    limits: patterns.describe('Limits that its children may take from'),
    channels: patterns.describe('Channels that it may wait on and send signals to'),
    waits: patterns.describe('Channels that it may wait on, and send nothing to'),
    reuse: z
      .boolean()
      .optional()
      .describe('Its children may take over kept results, and share unique keys with tasks of others'),
  })
  .describe(
    'What a task may do to others while a joined worker runs it: names, or the beginning of names followed by *',
  )
  .meta({ id: 'Permissions' });

const Retry = z.strictObject({
  baseMs: Duration.optional(),
  maxMs: Duration.optional(),
  factor: z.number().optional(),
  jitter: z.number().optional(),
});

const Reuse = z.union([
  z.boolean(),
  Duration,
  z.strictObject({ key: z.string().optional(), maxAge: Duration.optional() }),
]);

export const TaskInput = z
  .strictObject({
    queue: z.string(),
    handler: z.string().optional().describe('Default: the name of the queue'),
    input: Json.optional(),
    priority: z.number().optional().describe('Whole number, higher first; default 0'),
    delay: Duration.optional(),
    runAt: Time.optional(),
    maxAttempts: z.number().optional(),
    retry: Retry.optional(),
    timeout: Duration.optional().describe('How long one attempt may run'),
    waitTimeout: Duration.optional().describe('How long it may wait for its first start'),
    unique: z.union([z.string(), z.strictObject({ key: z.string(), window: Duration.optional() })]).optional(),
    placement: PlacementInput.optional(),
    limits: z.array(z.union([z.string(), LimitUse])).optional(),
    fairness: z.union([z.string(), z.strictObject({ key: z.string(), weight: z.number().optional() })]).optional(),
    reuse: Reuse.optional(),
    permissions: PermissionsInput.optional(),
  })
  .meta({ id: 'TaskInput' });

export const MOST_AT_ONCE = 5000;

export const PushInput = z.union([TaskInput, z.strictObject({ tasks: z.array(TaskInput).min(1).max(MOST_AT_ONCE) })]);

const Upstream = z.string().max(500).describe('The name of a task of this graph, or the id of one that exists');

export const GraphTaskInput = TaskInput.extend({
  name: z.string().optional().describe('Its name within the graph; default its place, counted from 0'),
  after: z
    .array(z.union([Upstream, z.strictObject({ on: Upstream, optional: z.boolean().optional() })]))
    .max(MOST_AT_ONCE)
    .optional()
    .describe('Tasks that must have completed before; optional: any end will do'),
  afterFailure: z
    .enum(AFTER_FAILURE)
    .optional()
    .describe('What happens to it when a task that it needs has failed or was cancelled; default cancel'),
}).meta({ id: 'GraphTaskInput' });

export const GraphInput = z.strictObject({ tasks: z.array(GraphTaskInput).min(1).max(MOST_AT_ONCE) });

const PlacementShown = z.object({
  requires: z.array(z.string()).readonly().optional(),
  handlers: z.array(z.string()).readonly().optional(),
  only: z.array(z.string()).readonly().optional(),
  never: z.array(z.string()).readonly().optional(),
  maxPerWorker: z.number().optional(),
  version: z.string().optional(),
  prefer: z
    .array(z.object({ tag: z.string(), weight: z.number() }))
    .readonly()
    .optional(),
  affinity: z.string().optional(),
});

export const Task = z
  .object({
    id: z.string(),
    queue: z.string(),
    handler: z.string(),
    state: TaskState,
    reason: word<Reason>().optional(),
    input: Json,
    result: Json.optional(),
    error: Json.optional(),
    priority: z.number(),
    attempt: z.number(),
    tries: z.number(),
    maxAttempts: z.number(),
    placement: PlacementShown.optional(),
    limits: z.array(LimitUse).readonly().optional(),
    fairness: z.object({ key: z.string(), weight: z.number() }).optional(),
    createdAt: Time,
    runAt: Time.optional(),
    startedAt: Time.optional(),
    finishedAt: Time.optional(),
    worker: z.string().optional(),
    leaseExpiresAt: Time.optional(),
    cancelRequestedAt: Time.optional(),
    unique: z.string().optional(),
    runId: z.string().optional().describe('Of a child: the root of its tree'),
    parentId: z.string().optional().describe('Of a child: the task that started it'),
  })
  .meta({ id: 'Task' });

export const PushedTask = Task.extend({
  fresh: z.boolean().describe('False: its unique key led to a task that was there before'),
}).meta({ id: 'PushedTask' });

export const GraphAnswer = z.object({
  tasks: z.array(PushedTask.extend({ name: z.string().describe('In the graph') })).readonly(),
});

/** How an attempt ended, or the state of the task if it is the last attempt. */
type Outcome = Extract<Change, 'retried' | 'released' | 'expired' | 'parked'> | z.output<typeof TaskState>;

export const Attempt = z
  .object({
    attempt: z.number(),
    worker: z.string().optional(),
    startedAt: Time.optional(),
    endedAt: Time.optional(),
    outcome: word<Outcome>(),
    error: Json.optional(),
  })
  .meta({ id: 'Attempt' });

export const TaskDetail = Task.extend({
  attempts: z.array(Attempt).readonly(),
  progress: Json.optional(),
  queuePaused: z.boolean(),
  workersForIt: z.number(),
  summary: z.string().optional().describe('Why it does not run'),
  runnable: z.boolean().optional(),
  wait: z
    .union([
      z.object({ kind: z.literal('approval'), title: z.string(), actions: z.array(z.string()).readonly() }),
      z.object({ kind: z.literal('signal'), channel: z.string() }),
    ])
    .optional()
    .describe('What somebody outside could give it'),
}).meta({ id: 'TaskDetail' });

export const Explanation = z
  .object({
    taskId: z.string(),
    state: TaskState,
    summary: z.string(),
    runnable: z.boolean(),
    reasons: z.array(z.string()).readonly(),
    workers: z
      .array(z.object({ name: z.string(), eligible: z.boolean(), reasons: z.array(z.string()).readonly() }))
      .readonly(),
    limits: z
      .array(
        z.object({
          name: z.string(),
          key: z.string().optional(),
          used: z.number(),
          cap: z.number().optional(),
          holders: z.array(z.string()).readonly(),
          freesAt: Time.optional(),
          open: z.boolean(),
        }),
      )
      .readonly(),
    dependencies: z
      .array(
        z.object({ taskId: z.string(), state: word<z.output<typeof TaskState> | 'gone'>(), optional: z.boolean() }),
      )
      .readonly(),
  })
  .meta({ id: 'Explanation' });

export const LogLine = z
  .object({
    attempt: z.number(),
    seq: z.number(),
    at: Time,
    stream: word<Stream>(),
    text: z.string(),
    dropped: z
      .number()
      .optional()
      .describe('Lines before this one that were written beyond the bound of the log, and are not kept'),
  })
  .meta({ id: 'LogLine' });

export const TreeInput = z.strictObject({
  tree: z.boolean().default(false).describe('Also all tasks that wait for it, and what they have spawned'),
  dryRun: z.boolean().default(false).describe('Only say what would happen to which task'),
});

/** The tasks of a tree; the root comes first. */
export const Tree = z
  .object({
    tasks: z
      .array(
        z.object({
          id: z.string(),
          queue: z.string(),
          handler: z.string(),
          state: TaskState,
          after: z.array(z.string()).readonly().describe('The tasks of the tree that it waits for'),
          spawnedBy: z.array(z.string()).readonly().describe('The tasks of the tree that have spawned it'),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'Tree' });

/** What was done to one task, or to each task of a tree. */
const treeAnswer = <Act extends string>() =>
  z.object({
    tasks: z
      .array(
        z.object({
          id: z.string(),
          queue: z.string(),
          handler: z.string(),
          state: TaskState.describe('Before'),
          act: word<Act>(),
        }),
      )
      .readonly(),
    counts: tally<Act>(),
    dryRun: z.boolean(),
  });

export const CancelAnswer = treeAnswer<CancelAct>();
export const RetryAnswer = treeAnswer<RetryAct>();

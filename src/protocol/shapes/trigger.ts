import { z } from 'zod';
import {
  EXECUTIONS,
  MOST_RATE,
  MOST_RUN_NAME,
  SIGNATURES,
  TRIGGER_EVENTS,
  TRIGGER_KINDS,
  type TriggerOutcome,
} from '../../core/trigger/trigger.ts';
import { Duration, Json, TaskState, Time, word } from './common.ts';
import { RunInput } from './run.ts';
import { TaskInput } from './task.ts';

const TriggerTask = TaskInput.pick({
  queue: true,
  handler: true,
  priority: true,
  delay: true,
  maxAttempts: true,
  retry: true,
  timeout: true,
  waitTimeout: true,
  placement: true,
  limits: true,
  fairness: true,
  permissions: true,
}).meta({ id: 'TriggerTask' });

const TriggerRun = RunInput.pick({
  machine: true,
  bundle: true,
  use: true,
  graph: true,
  upTo: true,
  trigger: true,
  channels: true,
  title: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  labels: true,
  budgets: true,
})
  .extend({
    name: z
      .string()
      .max(MOST_RUN_NAME)
      .optional()
      .describe('What its names begin with: each run is called NAME:KEY, by the key of its delivery'),
    workflow: z.string().optional().describe('Or the name of a stored workflow: its newest version'),
  })
  .meta({ id: 'TriggerRun' });

const SOURCE = {
  kind: z.enum(TRIGGER_KINDS),
  on: z.enum(TRIGGER_EVENTS).optional().describe('Of an event'),
  queues: z.array(z.string()).max(100).readonly().optional().describe('Only events of these queues; default all'),
  states: z.array(TaskState).max(7).readonly().optional().describe('Of task_finished: how they finished; default all'),
  together: z
    .boolean()
    .optional()
    .describe('One firing for all events that are read together; default false, of a check true'),
  folder: z.string().max(1000).optional().describe('Of files: an absolute folder below a root that the node allows'),
  match: z.string().max(200).optional().describe('Of files: a name with * and ?; default all'),
  node: z.string().max(200).optional().describe('Of files: the node that watches; default each that may'),
  signature: z.enum(SIGNATURES).optional().describe('Of a webhook: how its sender signs; default leasehold'),
  window: Duration.optional().describe('Of a webhook: how old a delivery may be; default 5m'),
};

const ACTION = {
  push: TriggerTask.optional().describe('Push this task'),
  run: TriggerRun.optional().describe('Or start a run of this'),
  check: z.string().optional().describe('Or have the scaler look at this pool'),
  input: Json.optional().describe('What the task or run is given, whatever has happened'),
  tell: z.boolean().optional().describe('Whether it is also told what has happened; default true'),
  execution: z
    .enum(EXECUTIONS)
    .optional()
    .describe('Of a run: task, by any worker (default); loop, by the node that fired; process, by a process beside it'),
  rate: z.number().int().min(1).max(MOST_RATE).optional().describe('Firings a minute; default 600'),
};

export const TriggerInput = z
  .strictObject({
    name: z.string(),
    ...SOURCE,
    ...ACTION,
    secret: z
      .union([z.strictObject({ env: z.string().max(200) }), z.strictObject({ value: z.string().min(16).max(500) })])
      .optional()
      .describe(
        'Of a webhook: a variable LEASEHOLD_HOOK_… of the nodes, or a text that is sealed; default: one is made',
      ),
    enabled: z.boolean().optional().describe('Default: as it is, and on for a new one'),
  })
  .meta({ id: 'TriggerInput' });

export const Firing = z
  .object({
    n: z.number().describe('Counts the firings of a trigger from 1'),
    at: Time,
    outcome: word<TriggerOutcome>().describe(
      'pushed; refused by a limit or a key; accepted, done or failed; stopped: a circle; held: too many in a minute; lost: events that were removed before they were read',
    ),
    about: z.string().describe('What has happened'),
    detail: z.string().optional(),
    task: z.string().optional().describe('The id of its task, until that is pruned'),
    state: TaskState.optional().describe('The state of its task'),
  })
  .meta({ id: 'Firing' });

export const Trigger = z
  .object({
    name: z.string(),
    ...SOURCE,
    push: Json.optional(),
    run: Json.optional(),
    check: z.string().optional(),
    input: Json.optional(),
    tell: z.boolean().optional(),
    execution: z.enum(EXECUTIONS).optional(),
    rate: z.number().optional(),
    secret: word<'made' | 'variable' | 'sealed'>().optional().describe('Of a webhook: where its secret is'),
    variable: z.string().optional().describe('The variable of the nodes that has its secret'),
    path: z.string().optional().describe('Of a webhook: where deliveries go'),
    enabled: z.boolean(),
    fired: z.number().describe('How often it has fired, refusals included'),
    createdAt: Time,
    changedAt: Time,
    last: Firing.optional(),
  })
  .meta({ id: 'Trigger' });

/** A trigger that was put. */
export const PutTrigger = Trigger.extend({
  newSecret: z.string().optional().describe('What the sender of a webhook signs with. It is told once'),
}).meta({ id: 'PutTrigger' });

export const FiredTrigger = z
  .object({
    fresh: z.boolean().describe('False: it had come before'),
    n: z.number().describe('The number of its line in the history'),
    outcome: word<TriggerOutcome>(),
    detail: z.string().optional(),
    id: z.string().optional().describe('The id of the task or run'),
  })
  .meta({ id: 'FiredTrigger' });

import { z } from 'zod';
import { Json, Time, word } from './common.ts';
import { RunInput } from './run.ts';
import { Schedule } from './schedule.ts';

/** A node that starts runs by a clock. */
export const WorkflowTrigger = z
  .object({
    node: z.string(),
    schedule: z.string().describe('The name of its schedule, with its history'),
    times: Schedule.shape.times,
    timezone: z.string(),
    state: word<'active' | 'paused' | 'ended'>().describe('paused: the workflow is off'),
    nextAt: Time.optional(),
  })
  .meta({ id: 'WorkflowTrigger' });

export const WorkflowVersion = z
  .object({
    version: z.number(),
    definition: z.string().describe('The hash of its text'),
    at: Time,
    by: z.string().optional(),
    restored: z.number().optional().describe('The version whose text it has again'),
  })
  .meta({ id: 'WorkflowVersion' });

export const Workflow = WorkflowVersion.extend({
  name: z.string(),
  enabled: z.boolean().describe('Whether its triggers start runs'),
  createdAt: Time,
  changedAt: Time,
  triggers: z.array(WorkflowTrigger).readonly(),
}).meta({ id: 'Workflow' });

export const WorkflowDetail = Workflow.extend({
  workflow: Json.describe('As it was applied'),
}).meta({ id: 'WorkflowDetail' });

export const WorkflowVersionDetail = WorkflowVersion.extend({
  workflow: Json.describe('As it was applied'),
}).meta({ id: 'WorkflowVersionDetail' });

export const WorkflowProblem = z
  .object({
    level: word<'error' | 'warning'>(),
    path: z.string(),
    message: z.string(),
  })
  .meta({ id: 'WorkflowProblem' });

export const WorkflowCheck = z
  .object({
    ok: z.boolean().describe('It can run: none of its problems is an error'),
    problems: z.array(WorkflowProblem).readonly(),
  })
  .meta({ id: 'WorkflowCheck' });

export const WorkflowChange = z
  .object({
    change: word<'added' | 'removed' | 'changed'>(),
    what: z.string().describe('A node, a connection, or another field'),
    fields: z.array(z.string()).readonly().optional().describe('Of a node that was changed'),
  })
  .meta({ id: 'WorkflowChange' });

export const AppliedWorkflow = Workflow.extend({
  fresh: z.boolean().describe('False: it said the same before, and has no new version'),
  changes: z.array(WorkflowChange).readonly().describe('From the version before'),
  warnings: z.array(WorkflowProblem).readonly(),
}).meta({ id: 'AppliedWorkflow' });

const expected = z
  .number()
  .int()
  .min(0)
  .optional()
  .describe('The version that it was made from, 0 for none: another one is refused with CONFLICT');

export const WorkflowInput = z
  .strictObject({
    name: z.string().describe('1 to 63 of a-z, 0-9, ".", "_" and "-"'),
    workflow: Json.describe('Nodes and connections'),
    enabled: z
      .boolean()
      .optional()
      .describe('Default: what a new version says of itself, else as it was, and on when it is new'),
    expected,
    dryRun: z.boolean().optional().describe('Only tell what would change'),
  })
  .meta({ id: 'WorkflowInput' });

export const WorkflowRestoreInput = z.strictObject({ expected });

export const WorkflowRunInput = RunInput.pick({
  input: true,
  upTo: true,
  trigger: true,
  name: true,
  title: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  labels: true,
  budgets: true,
})
  .extend({ version: z.number().int().min(1).optional().describe('Default: the newest') })
  .meta({ id: 'WorkflowRunInput' });

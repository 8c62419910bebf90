import { z } from 'zod';
import { Json, TaskState, Time, tally, word } from './common.ts';
import { TaskInput } from './task.ts';

/** What a run is an execution of. */
export type RunKind = 'machine' | 'task' | 'agent' | 'workflow' | 'graph' | 'loop';

const Totals = z
  .object({
    apiCalls: z.number(),
    tokens: z.number(),
    cost: z.number().describe('In dollars'),
    agentMs: z.number(),
    partial: z.boolean().optional().describe('The tree is so large that some of its tasks are not counted'),
  })
  .describe('What calls of agents have used, over the whole tree')
  .meta({ id: 'RunTotals' });

export const Budget = z
  .object({
    unit: z.enum(['tokens', 'money', 'ms', 'calls']),
    soft: z.number().optional(),
    hard: z.number().optional(),
    taken: z.number().describe('Spent, and reserved for calls under way; money in dollars'),
    spent: z.number(),
    waiting: z.boolean().describe('A task waits until somebody raises it'),
  })
  .meta({ id: 'Budget' });

export const Run = z
  .object({
    id: z.string().describe('Of its root task'),
    name: z.string().optional().describe('The execution id that the caller gave it'),
    kind: word<RunKind>(),
    title: z.string().describe('The name of the machine, or of the handler'),
    state: TaskState,
    reason: z.string().optional(),
    queue: z.string(),
    handler: z.string(),
    attempt: z.number(),
    labels: z.record(z.string(), z.string()),
    definition: z.string().optional().describe('The hash of its definition'),
    forkedFrom: z.string().optional(),
    createdAt: Time,
    startedAt: Time.optional(),
    finishedAt: Time.optional(),
    cancelRequestedAt: Time.optional(),
    cancelReason: z.string().optional(),
    cancelledBy: z.string().optional(),
  })
  .meta({ id: 'Run' });

/** What somebody can do about a wait. */
export const RunWait = z
  .object({
    task: z.string(),
    kind: z.enum(['signal', 'approval', 'children', 'time', 'budget']),
    key: z.string(),
    since: Time,
    deadline: Time.optional(),
    channel: z.string().optional(),
    title: z.string().optional(),
    actions: z.array(z.string()).readonly().optional(),
    form: Json.optional(),
    children: z.object({ ended: z.number(), all: z.number() }).optional(),
  })
  .meta({ id: 'RunWait' });

/** A state of the diagram. */
export const RunState = z.object({
  name: z.string(),
  type: z.enum(['initial', 'final', 'state']),
  does: z.string().describe('action, agent, machine, launch, wait, or nothing'),
  to: z.array(z.object({ state: z.string(), condition: z.string().optional() })).readonly(),
  onError: z.array(z.string()).readonly(),
  visits: z.number(),
});

export const RunDetail = Run.extend({
  input: Json.optional(),
  output: Json.optional(),
  error: Json.optional(),
  /** Of the machine. */
  current: z.string().optional().describe('The state in which the machine is'),
  step: z.number().optional(),
  summary: z.string().describe('How it stands, in one sentence'),
  members: tally<z.infer<typeof TaskState>>().describe('Tasks of the tree by state, the root included'),
  totals: Totals,
  budgets: z.array(Budget).readonly(),
  waits: z.array(RunWait).readonly(),
  states: z.array(RunState).readonly().optional().describe('The diagram of its machine'),
  context: Json.optional().describe('Of the machine, as it is stored'),
  parent: z.string().optional().describe('The task that started it'),
  root: z.string().optional(),
}).meta({ id: 'RunDetail' });

/** One bar of the waterfall. */
export const RunStep = z
  .object({
    task: z.string().describe('The task whose journal has it'),
    key: z.string(),
    kind: z.enum(['step', 'element', 'mark', 'wait', 'child', 'signal', 'attempt']),
    name: z.string().describe('The state of a machine, or the name of a step'),
    via: z.array(z.string()).readonly().optional().describe('States passed before it, without doing anything'),
    passed: z.array(z.string()).readonly().optional().describe('States passed after it'),
    step: z.number().optional(),
    attempt: z.number(),
    began: Time.optional(),
    at: Time,
    child: z.string().optional().describe('The id of the child'),
    state: TaskState.optional().describe('Of the child'),
    ended: Time.optional().describe('When the child has ended'),
    usage: Json.optional(),
    forkable: z.boolean(),
  })
  .meta({ id: 'RunStep' });

export const RunStepDetail = RunStep.extend({
  given: Json.optional(),
  out: Json.optional(),
  context: Json.optional().describe('Of the machine after it'),
  value: Json.optional().describe('As it is stored'),
}).meta({ id: 'RunStepDetail' });

const labels = z.record(z.string(), z.string());
const budgets = z
  .array(z.strictObject({ unit: Budget.shape.unit, soft: z.number().optional(), hard: z.number().optional() }))
  .max(4);

export const RunInput = z
  .strictObject({
    machine: Json.optional().describe('A machine that brings all it needs, as JSON'),
    bundle: z.string().optional().describe('Or the text of a bundle, which "leasehold run" makes'),
    use: z.string().optional().describe('Or the name of a machine that workers know'),
    task: TaskInput.optional().describe(
      'Or the task of a workflow that workers have: its handler is NAME, or NAME@VERSION. It has its own queue, input and rest',
    ),
    definition: z.string().max(100).optional().describe('Or the hash of a definition that a run has: the same again'),
    graph: Json.optional().describe('Or a workflow of nodes and connections, as JSON'),
    upTo: z.string().optional().describe('Of a graph: the id of the node with which the run ends'),
    trigger: z.string().optional().describe('Of a graph: the id of the trigger that fires; default: all'),
    channels: z
      .array(z.string())
      .max(100)
      .optional()
      .describe(
        'Signals that it may wait for where workers of other hosts run it; default: those that the machine names',
      ),
    input: Json.optional(),
    name: z.string().optional().describe('The execution id: started again, the run goes on or gives its result'),
    title: z.string().optional(),
    queue: z.string().optional().describe('Default: machines; of a graph: graphs'),
    priority: z.number().optional(),
    maxAttempts: z.number().optional(),
    labels: labels.optional(),
    budgets: budgets.optional(),
  })
  .meta({ id: 'RunInput' });

/** What is wrong with the text of a machine or of a graph, and what it says. */
export const RunCheck = z
  .object({
    kind: z.enum(['machine', 'graph']).optional(),
    title: z.string().optional(),
    definition: Json.optional().describe('What a run is started with; absent if a problem keeps it from running'),
    problems: z
      .array(
        z.object({
          level: z.enum(['error', 'warning']),
          place: z.string().describe('Such as nodes[3].data.url; empty: the whole text'),
          line: z.number().optional(),
          message: z.string(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'RunCheck' });

export const RunCancelInput = z.strictObject({ reason: z.string().max(1000).optional() });

export const RunForkInput = z
  .strictObject({
    step: z
      .string()
      .max(500)
      .optional()
      .describe('The key of the step after which it goes on, or "start"; default: the last'),
    context: z.record(z.string(), Json).optional().describe('Entries to change; null takes one away'),
    name: z.string().optional(),
    labels: labels.optional(),
  })
  .meta({ id: 'RunForkInput' });

export const BudgetInput = z.strictObject({
  unit: Budget.shape.unit,
  soft: z.number().nullable().optional(),
  hard: z.number().nullable().optional(),
});

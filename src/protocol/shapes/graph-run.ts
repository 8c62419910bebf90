import { z } from 'zod';
import { Json, TaskState, Time, word } from './common.ts';

/** How a node of a graph stands. `outside`: it is not part of this run. `skipped`: nothing came in, so it did not run. */
export type GraphNodeState = 'outside' | 'waiting' | 'running' | 'done' | 'skipped' | 'failed';

/** What a node does: within the run, or as tasks. */
export type GraphNodeWork =
  | 'start'
  | 'scheduled'
  | 'hardwired'
  | 'set'
  | 'transform'
  | 'if'
  | 'http'
  | 'append_to_file'
  | 'run_command'
  | 'handler';

const GraphNodeOutline = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string().describe('As the workflow says it'),
  does: word<GraphNodeWork>(),
  perItem: z.boolean().describe('Once for each item; else once for all of them'),
  pinned: z.number().optional().describe('So many items stand in place of what it would give'),
  x: z.number().optional().describe('Where the workflow draws it'),
  y: z.number().optional(),
});

/** A graph as it is drawn. It never changes while the run is kept. */
export const RunGraph = z
  .object({
    name: z.string(),
    nodes: z.array(GraphNodeOutline).readonly(),
    connections: z
      .array(
        z.object({
          from: z.number().describe('A place in "nodes"'),
          to: z.number(),
          rejected: z.boolean().optional().describe('Of a node "if": the items for which its condition does not hold'),
        }),
      )
      .readonly(),
    upTo: z.string().optional().describe('The id of the node with which the run ends'),
    trigger: z.string().optional().describe('The id of the trigger that fired'),
  })
  .meta({ id: 'RunGraph' });

const NodeTasks = z.object({
  all: z.number(),
  ended: z.number(),
  running: z.number(),
  failed: z.number().describe('Failed, or cancelled'),
});

const GraphNodeStanding = z.object({
  state: word<GraphNodeState>(),
  kept: z.number().optional().describe('Items that it gave'),
  rejected: z.number().optional().describe('Of a node "if": items for which its condition does not hold'),
  began: Time.optional(),
  ended: Time.optional(),
  tasks: NodeTasks.optional(),
});

export const RunGraphStates = z
  .object({
    nodes: z.array(GraphNodeStanding).readonly().describe('In the order of the nodes of the graph'),
    partial: z.boolean().optional().describe('The journal is so long that some of it was not read'),
  })
  .meta({ id: 'RunGraphStates' });

/** Items of which the first are shown. */
const Items = z.object({ all: z.number(), items: z.array(Json).readonly() });

const NodeTask = z.object({
  id: z.string(),
  key: z.string().describe('Of its entry in the journal of the run'),
  state: TaskState,
  attempt: z.number(),
  createdAt: Time,
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
  worker: z.string().optional(),
  error: Json.optional(),
});

export const RunGraphNode = GraphNodeOutline.extend({
  ...GraphNodeStanding.shape,
  settings: Json.describe('The node as the workflow has it'),
  input: Items.optional().describe('What came in'),
  output: Items.optional().describe('What it gave'),
  rejects: Items.optional().describe('Of a node "if": what came in and does not meet its condition'),
  withheld: z.string().optional().describe('Why input and output are not shown'),
  error: Json.optional(),
  members: z.array(NodeTask).readonly().describe('Its first tasks'),
}).meta({ id: 'RunGraphNode' });

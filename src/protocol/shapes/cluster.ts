import { z } from 'zod';
import { NODE_HEALTH, NODE_OVERRIDES, NODE_ROLES } from '../../core/node.ts';

export const ClusterNode = z
  .object({
    id: z.string(),
    state: z.enum(NODE_HEALTH).describe('By how long it has been silent; left: it has stopped'),
    role: z.enum(['leader', 'worker', 'observer']).describe('What it does'),
    roleSince: z.number().optional().describe('Absent while the node has not written that its role has changed'),
    wish: z.enum(NODE_ROLES).describe('What it was started as'),
    override: z.enum(NODE_OVERRIDES).describe('The role that was asked of it instead; auto: none'),
    address: z.string().optional(),
    version: z.string().optional(),
    host: z.string().optional(),
    pid: z.number().optional(),
    startedAt: z.number(),
    silentMs: z.number(),
    registered: z
      .boolean()
      .optional()
      .describe('It came by register_node: a program that works over JSON-RPC, and never leads'),
  })
  .meta({ id: 'ClusterNode' });

export const Cluster = z
  .object({
    leader: z
      .object({
        node: z.string(),
        epoch: z.number(),
        since: z.number().optional().describe('Not known in the moment of a takeover'),
        expiresInMs: z.number(),
      })
      .optional(),
    nodes: z.array(ClusterNode).readonly(),
    duties: z
      .array(
        z.object({
          name: z.string(),
          holder: z.string().optional().describe('A node, or a program; absent: nobody'),
          epoch: z.number(),
          expiresInMs: z.number(),
        }),
      )
      .readonly(),
    store: z.string().describe('The kind of store'),
  })
  .meta({ id: 'Cluster' });

export const NodeEdit = z.strictObject({
  role: z.enum(NODE_OVERRIDES).describe('auto: what it was started as'),
});

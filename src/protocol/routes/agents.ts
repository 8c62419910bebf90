import { z } from 'zod';
import { type Route, route } from '../route.ts';

/** The addresses that A2A and MCP clients call. */
export const AGENT_ROUTES = {
  agentCard: route({
    method: 'GET',
    path: '/.well-known/agent-card.json',
    access: 'open',
    does: 'The agent card of this node (A2A): each handler is a skill',
    answer: z.record(z.string(), z.unknown()),
  }),
  a2a: route({
    method: 'POST',
    path: '/a2a',
    access: 'any',
    methods: true,
    onObserver: true,
    does: 'A2A 1.0 and 0.3 as JSON-RPC: a message to a handler becomes a task. Reads need the role read, messages and cancelling operator',
    body: z.record(z.string(), z.unknown()),
    answer: z.record(z.string(), z.unknown()),
    stream: 'maybe',
  }),
  mcp: route({
    method: 'POST',
    path: '/mcp',
    access: 'any',
    methods: true,
    onObserver: true,
    does: 'MCP as Streamable HTTP, without sessions. It needs the role read, tools that write need operator',
    body: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown()).max(50)]),
    answer: z.unknown(),
  }),
} as const satisfies Record<string, Route>;

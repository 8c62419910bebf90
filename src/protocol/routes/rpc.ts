import { z } from 'zod';
import { type Route, route } from '../route.ts';

/** apflow has an address for each kind of method; every address takes every method. */
const rpc = <const P extends string>(path: P, does: string) =>
  route({
    method: 'POST',
    path,
    access: 'any',
    does,
    body: z.unknown().describe('A call of JSON-RPC 2.0, or an array of up to 50'),
    answer: z.unknown(),
    stream: 'maybe',
    rpc: true,
    onObserver: true,
  });

/** The addresses of apflow JSON-RPC. */
export const RPC_ROUTES = {
  rpcRoot: rpc(
    '/',
    'JSON-RPC 2.0 as apflow has it: nodes, leases, trees of tasks. Each method has its own role. Takes the methods of A2A too',
  ),
  rpc: rpc('/rpc', 'The same'),
  rpcTasks: rpc('/tasks', 'The same'),
  rpcSystem: rpc('/system', 'The same'),
} as const satisfies Record<string, Route>;

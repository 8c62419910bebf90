import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { pathName } from '../shapes/common.ts';
import { RunGraph, RunGraphNode, RunGraphStates } from '../shapes/graph-run.ts';
import { API } from './address.ts';

const oneRun = z.strictObject({ id: pathName('The id of a run, or its name') });

/** The nodes of a run that is a graph. */
export const RUN_GRAPH_ROUTES = {
  getRunGraph: route({
    method: 'GET',
    path: `${API}/runs/{id}/graph`,
    access: 'read',
    does: 'The graph of a run: its nodes, where they are drawn, and what connects them',
    params: oneRun,
    answer: RunGraph,
  }),
  getRunGraphStates: route({
    method: 'GET',
    path: `${API}/runs/{id}/graph/states`,
    access: 'read',
    does: 'How each node of the graph of a run stands',
    params: oneRun,
    answer: RunGraphStates,
  }),
  getRunGraphNode: route({
    method: 'GET',
    path: `${API}/runs/{id}/graph/nodes/{node}`,
    access: 'read',
    does: 'One node of the graph of a run: its settings, its first items, its tasks, its error',
    params: z.strictObject({ id: oneRun.shape.id, node: pathName('The id of a node') }),
    answer: RunGraphNode,
  }),
} as const satisfies Record<string, Route>;

import { findRun } from '../runs/find-run.ts';
import { graphNode } from '../runs/graph/graph-node.ts';
import { graphOfRun } from '../runs/graph/graph-of-run.ts';
import { outlineOfGraph } from '../runs/graph/graph-outline.ts';
import { graphStates } from '../runs/graph/graph-states.ts';
import type { Operations } from './operation.ts';

/** The nodes of a run that is a graph. */
export const runGraphOperations = {
  async getRunGraph(snapshot, { params: { id } }) {
    return outlineOfGraph(await graphOfRun(snapshot, await findRun(snapshot, id)));
  },

  async getRunGraphStates(snapshot, { params: { id } }) {
    const run = await findRun(snapshot, id);
    const { past: _past, ...states } = await graphStates(snapshot, run, await graphOfRun(snapshot, run));
    return states;
  },

  async getRunGraphNode(snapshot, { params: { id, node } }) {
    const run = await findRun(snapshot, id);
    return graphNode(snapshot, run, await graphOfRun(snapshot, run), node);
  },
} satisfies Operations;

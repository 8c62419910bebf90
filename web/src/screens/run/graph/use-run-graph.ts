/** The graph of a run, which never changes, and how its nodes stand, which does. */

import { useMemo } from 'react';
import { client, type RunDetail, type RunGraph } from '../../../api.ts';
import { type Resource, useResource } from '../../../live/resource.ts';
import { type GraphLayout, layoutGraph } from '../../../model/run/graph/layout.ts';
import type { Standing } from '../../../model/run/graph/standing.ts';
import { isFinal } from '../../../model/task-states.ts';

/** With more nodes than this, how they stand is asked for more rarely. */
const MANY = 500;

export interface ShownGraph {
  readonly graph: Resource<RunGraph>;
  readonly layout: GraphLayout | undefined;
  readonly standings: readonly Standing[];
  readonly partial: boolean;
  readonly refresh: () => void;
}

const WAITING: Standing = { state: 'waiting' };

export function useRunGraph(run: RunDetail, tasks: ReadonlySet<string>): ShownGraph {
  const params = { id: run.id };
  const live = !isFinal(run.state);
  const graph = useResource(`graph of ${run.id}`, (signal) => client.call('getRunGraph', { params, signal }));
  const { data } = graph;
  const slow = (data?.nodes.length ?? 0) > MANY;
  const states = useResource(`nodes of ${run.id}`, (signal) => client.call('getRunGraphStates', { params, signal }), {
    on: ({ task }) => task !== undefined && tasks.has(task),
    atMostMs: slow ? 1_500 : 400,
    everyMs: live ? (slow ? 2_500 : 1_500) : 30_000,
  });
  const layout = useMemo(() => data && layoutGraph(data.nodes, data.connections), [data]);
  const known = states.data?.nodes;
  const standings = useMemo(() => data?.nodes.map((_, i): Standing => known?.[i] ?? WAITING) ?? [], [data, known]);
  return { graph, layout, standings, partial: states.data?.partial === true, refresh: states.refresh };
}

import { fault } from '../../../core/errors.ts';
import type { TaskRecord } from '../../../engine/records.ts';
import type { Run } from '../../../engine/trees/runs.ts';
import type { Value } from '../../../flow/expression/values.ts';
import { GRAPH_HANDLER, type GraphPayload, readGraphPayload } from '../../../flow/graph/graph-run.ts';
import type { RunScope } from '../../../flow/graph/scope.ts';
import type { EngineSnapshot } from '../../engine-snapshot.ts';
import { graphAt, type StoredGraph } from './graph-definition.ts';

export interface GraphOfRun extends StoredGraph {
  readonly record: TaskRecord;
  readonly payload: GraphPayload;
  readonly scope: RunScope;
}

/** The graph that a run executes; refused for a run of anything else. */
export async function graphOfRun(snapshot: EngineSnapshot, run: Run): Promise<GraphOfRun> {
  const record = await snapshot.engine.get(run.task);
  if (record === undefined) throw fault('NOT_FOUND', { kind: 'run', id: run.id });
  const payload = record.handler === GRAPH_HANDLER ? readGraphPayload(JSON.parse(record.payload) as Value) : 'none';
  if (typeof payload === 'string') {
    throw fault('CONFLICT', { problem: `it is a run of the handler ${run.handler}, and only graphs have nodes` });
  }
  const stored = await graphAt(snapshot, payload.definition, payload.name);
  if (stored === undefined) throw fault('NOT_FOUND', { kind: 'definition', id: payload.definition });
  const placeOf = (id: string | undefined): number | undefined => {
    const place = id === undefined ? -1 : stored.graph.nodes.findIndex((node) => node.id === id);
    return place === -1 ? undefined : place;
  };
  return {
    ...stored,
    record,
    payload,
    scope: { upTo: placeOf(payload.upTo), trigger: placeOf(payload.trigger) },
  };
}

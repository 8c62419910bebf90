import type { LaneStore } from '../../store.ts';
import { getLane, internLane, internSpec, laneDepth, scanLanes } from '../verbs/queue/intern.ts';
import type { StoreParts } from './store-parts.ts';

export function laneStore({ calls, writer }: StoreParts): LaneStore {
  return {
    laneIntern: ({ lanes }) => writer.write('push', (tx) => lanes.map((lane) => internLane(tx, lane))),
    laneGet: ({ lanes }) => writer.read(({ sql }) => lanes.map((lane) => getLane(sql, lane))),
    laneScan: ({ after, limit }) =>
      calls.again('laneScan', `${after} ${limit}`, ({ sql }) => scanLanes(sql, after, limit)),
    laneDepth: ({ lanes, most }) => writer.read(({ sql }) => lanes.map((lane) => laneDepth(sql, lane, most))),
    specIntern: ({ specs }) => writer.write('push', (tx) => specs.map((body) => internSpec(tx, body))),
    specGet: ({ spec }) =>
      writer.read(({ sql }) => (sql.get('specGet').get(spec) as { body: string } | undefined)?.body),
  };
}

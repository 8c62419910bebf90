import type { Lane, LaneStore } from '../../store.ts';
import type { Session } from '../connect/database.ts';
import { getLanes, internLanes, internSpecs, laneDepths, scanLanes } from '../verbs/queue/intern.ts';
import type { StoreParts } from './store-parts.ts';

export function laneStore({ calls, lanes: known }: StoreParts): LaneStore {
  return {
    laneIntern({ lanes }) {
      const body = (session: Session): Promise<readonly Lane[]> => internLanes(session, known, lanes);
      return lanes.some(({ limits = [] }) => limits.length > 0) ? calls.transaction(body) : calls.run(body);
    },
    laneGet: ({ lanes }) => calls.run((session) => getLanes(session, known, lanes)),
    laneScan: ({ after, limit }) => calls.run((session) => scanLanes(session, after, limit)),
    laneDepth: ({ lanes, most }) => calls.run((session) => laneDepths(session, lanes, most)),
    specIntern: ({ specs }) => calls.run((session) => internSpecs(session, specs)),
    specGet: ({ spec }) =>
      calls.run(async (session) => (await session.all<{ body: string }>('specGet', [spec]))[0]?.body),
  };
}

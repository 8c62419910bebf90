import { STATES, type TaskState } from '../../../../core/task/task.ts';
import { stateOf } from '../../../codes.ts';
import type { Drift } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';

interface DriftRow {
  readonly id: number;
  readonly name: string;
  readonly state: number;
  readonly counted: number;
  readonly kept: number;
}

/** One statement and so one snapshot: every difference is real, whatever is written meanwhile. */
export function recount(session: Session): Promise<readonly DriftRow[]> {
  return session.all<DriftRow>('audit', []);
}

/** Adds the difference instead of setting the value, so that commits since the recount stay counted. */
export async function repair(session: Session, drifts: readonly DriftRow[]): Promise<readonly Drift[]> {
  for (const { id, state, counted, kept } of drifts) {
    const deltas = STATES.slice(0, 4).map((_, code) => (code === state ? counted - kept : 0));
    await session.rows('statAdd', [id, ...deltas]);
  }
  return drifts.map(({ name, state, counted, kept }) => {
    return { queue: name, state: stateOf(state) satisfies TaskState, counted, kept };
  });
}

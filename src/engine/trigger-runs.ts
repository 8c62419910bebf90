import type { NewRun, TriggerRecord } from '../store/store.ts';
import { fingerprintOf } from './trees/runs.ts';

/** What a trigger pushes at an instant. */
export interface Firing {
  readonly payload: string;
  /** Undefined: its tasks are no runs. */
  readonly run: NewRun | undefined;
}

/** A run is told the time for which it was started, as the item of its trigger. */
export function firingOf({ payload, run, handler }: TriggerRecord, at: number): Firing {
  if (run === undefined) return { payload, run };
  const given = JSON.parse(payload) as object;
  const told = JSON.stringify({ ...given, input: { time: new Date(at).toISOString() } });
  return { payload: told, run: { ...run, fingerprint: fingerprintOf(handler, run.definition, told) } };
}

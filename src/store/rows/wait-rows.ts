import type { WaitRecord } from '../store.ts';

/** Records of waits from rows whose columns have the same names in every store. */

/** The position is the number in `wait.state`. */
const WAIT_STATES = ['open', 'woken', 'timed_out'] as const;

export interface WaitRow {
  readonly task: number;
  readonly key: string;
  readonly channel: string | null;
  readonly form: string | null;
  readonly since: number;
  readonly deadline: number | null;
  readonly state: number;
  readonly body: string | null;
  /** Whether its task still waits in the attempt that parked it. */
  readonly waits: number | boolean | null;
}

export function waitOf(row: WaitRow): WaitRecord {
  const outcome = WAIT_STATES[row.state] as WaitRecord['outcome'];
  return {
    task: row.task,
    key: row.key,
    channel: row.channel ?? undefined,
    form: row.form ?? undefined,
    since: row.since,
    deadline: row.deadline ?? undefined,
    // The end of children wakes a task without a change of its wait.
    outcome: outcome === 'open' && !row.waits ? 'woken' : outcome,
    body: row.body ?? undefined,
  };
}

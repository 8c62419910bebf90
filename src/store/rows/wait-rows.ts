import type { OtherWait, Park, WaitRecord } from '../store.ts';

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
  /** That of the signal. Of a wait that no signal has ended: what else would wake it. */
  readonly body: string | null;
  /** Whether its task still waits in the attempt that parked it. */
  readonly waits: number | boolean | null;
}

export function waitOf(row: WaitRow): WaitRecord {
  const outcome = WAIT_STATES[row.state] as WaitRecord['outcome'];
  const now = outcome === 'open' && !row.waits ? 'woken' : outcome;
  return {
    task: row.task,
    key: row.key,
    channel: row.channel ?? undefined,
    form: row.form ?? undefined,
    since: row.since,
    deadline: row.deadline ?? undefined,
    // The end of children wakes a task without a change of its wait.
    outcome: now,
    body: outcome === 'woken' ? (row.body ?? undefined) : undefined,
    ...(now === 'open' && row.body !== null ? { others: othersIn(row.body) } : {}),
  };
}

/** As they stand in the row of an open wait. */
export function othersText({ others = [] }: Park): string | null {
  return others.length === 0 ? null : JSON.stringify(others);
}

export function othersIn(text: string): readonly OtherWait[] {
  return JSON.parse(text) as readonly OtherWait[];
}

/** A wait and what else would wake its task, each as if it were the only one. */
export function eachChannel<T extends Park>(item: T): readonly (T & { readonly channel: string })[] {
  const { channel, others = [] } = item;
  const more = others.map(({ key, channel: own, form }) => ({ ...item, key, channel: own, form }));
  return channel === undefined ? more : [{ ...item, channel }, ...more];
}

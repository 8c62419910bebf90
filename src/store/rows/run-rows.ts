import { REASONS, type Reason } from '../../core/task/task.ts';
import { stateOf } from '../codes.ts';
import type { NewRun, RunQuery, RunRecord } from '../port/run-store.ts';

/** Runs from rows whose columns have the same names in every store. */

/** The columns of a run row `r`, all null where there is none. */
export const RUN = `r.task AS run, r.name, r.kind, r.title, r.fingerprint, r.definition, r.forked_from, r.labels,
  r.cancel_at AS asked_at, r.cancel_why, r.cancel_by`;

export interface RunRow {
  readonly id: number;
  readonly run: number | null;
  readonly name: string | null;
  readonly kind: string | null;
  readonly title: string | null;
  readonly fingerprint: string | null;
  readonly definition: string | null;
  readonly forked_from: number | null;
  readonly labels: string | null;
  readonly asked_at: number | null;
  readonly cancel_why: string | null;
  readonly cancel_by: string | null;
  readonly created_at: number;
  readonly queue: string;
  readonly handler: string;
  readonly state: number;
  readonly reason: number;
  readonly attempt: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly cancel_at: number | null;
  readonly parent: number | null;
  readonly root: number | null;
}

/** The kind of what was never made as a run. */
export const TASK_KIND = 'task';

export function runOf(row: RunRow): RunRecord {
  return {
    task: row.id,
    name: row.name ?? undefined,
    kind: row.kind ?? TASK_KIND,
    title: row.title ?? row.handler,
    fingerprint: row.fingerprint ?? '',
    definition: row.definition ?? undefined,
    forkedFrom: row.forked_from ?? undefined,
    labels: row.labels === null ? {} : (JSON.parse(row.labels) as Readonly<Record<string, string>>),
    cancelNote:
      row.asked_at === null
        ? undefined
        : { at: row.asked_at, why: row.cancel_why ?? undefined, by: row.cancel_by ?? undefined },
    queue: row.queue,
    handler: row.handler,
    createdAt: row.created_at,
    state: stateOf(row.state),
    reason: REASONS[row.reason] as Reason,
    attempt: row.attempt,
    startedAt: row.started_at ?? undefined,
    finishedAt: row.ended_at ?? undefined,
    cancelRequestedAt: row.cancel_at ?? undefined,
    parent: row.parent ?? undefined,
    root: row.root ?? undefined,
  };
}

/** The values of a new run row after its task: name, kind, title, fingerprint, definition, fork, labels. */
export function runValues(run: NewRun): readonly (string | number | null)[] {
  const { name, kind, title, fingerprint, definition, forkedFrom, labels } = run;
  const texts = labels === undefined || Object.keys(labels).length === 0 ? null : JSON.stringify(labels);
  return [name ?? null, kind, title, fingerprint, definition ?? null, forkedFrom ?? null, texts];
}

/** The same, a column each. */
export function runColumns(runs: readonly NewRun[]) {
  const rows = runs.map(runValues);
  const column = <T>(i: number): readonly T[] => rows.map((row) => row[i] as T);
  return {
    name: column<string | null>(0),
    kind: column<string>(1),
    title: column<string>(2),
    fingerprint: column<string>(3),
    definition: column<string | null>(4),
    forkedFrom: column<number | null>(5),
    labels: column<string | null>(6),
  };
}

/** How many runs one page is found among: as many as it has without a filter. */
export function runsLooked({ limit, kind, states, name, title }: RunQuery): number {
  const all = kind === undefined && states === undefined && name === undefined && title === undefined;
  return all ? limit : Math.max(limit, RUN_LOOK);
}

/**
 * A filter walks the runs from the newest on. Where it fits none, 2,000 runs take 2 ms on SQLite, and by state 50 ms on
 * Postgres with thirty days of finished tasks: each of them is asked for each run. Other filters take 5 ms there.
 */
const RUN_LOOK = 2000;

/** A push notes the use of a definition when the note is older than this, so that pushes do not wait for its row. */
export const USE_MS = 60_000;

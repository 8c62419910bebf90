import { STATES } from '../../core/task/task.ts';
import type { DocumentCount, DocumentRecord } from '../store.ts';

/** Records of documents from rows whose columns have the same names in every store. */
const NAMES = [
  'num',
  'id',
  'root',
  'parent',
  'user_id',
  'shows',
  'body',
  'task',
  'run',
  'dropped',
  'version',
  'created_at',
  'updated_at',
] as const;

export const DOCUMENT_COLUMNS = NAMES.map((name) => `d.${name}`).join(', ');

export interface DocumentRow {
  readonly num: number;
  readonly id: string;
  readonly root: string;
  readonly parent: string | null;
  readonly user_id: string | null;
  readonly shows: string | null;
  readonly body: string;
  readonly task: number | null;
  readonly run: number;
  readonly dropped: number | boolean;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** The state and the last attempt of the task. */
  readonly state: number | null;
  readonly attempt: number | null;
}

/** The counts: documents without a task, dropped ones, those that wait and have begun, and each state by its position. */
export const COUNTS = [
  'count(*) FILTER (WHERE coalesce(o.task, d.task) IS NULL AND NOT d.dropped)',
  'count(*) FILTER (WHERE coalesce(o.task, d.task) IS NULL AND d.dropped)',
  `count(*) FILTER (WHERE t.state = ${STATES.indexOf('waiting')} AND t.attempt > 0)`,
  ...STATES.map((_, code) => `count(*) FILTER (WHERE t.state = ${code})`),
].join(', ');

export function documentOf(row: DocumentRow): DocumentRecord {
  return {
    number: row.num,
    id: row.id,
    root: row.root,
    parent: row.parent ?? undefined,
    user: row.user_id ?? undefined,
    shows: row.shows ?? undefined,
    body: row.body,
    task: row.task ?? undefined,
    state: row.state === null ? undefined : STATES[row.state],
    attempt: row.attempt ?? undefined,
    run: row.run,
    dropped: Boolean(row.dropped),
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** From a row of `COUNTS`. */
export function countOf([fresh, dropped, parked, ...states]: readonly number[]): DocumentCount {
  return {
    fresh: fresh as number,
    dropped: dropped as number,
    parked: parked as number,
    states: Object.fromEntries(STATES.map((state, code) => [state, states[code]])) as DocumentCount['states'],
  };
}

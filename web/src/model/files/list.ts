/** The rules of the live list of artifacts: its filter, its pages, and what comes or goes while it is shown. */

export interface FileFilter {
  readonly task: string;
  /** All tasks of this run. */
  readonly run: string;
  /** The whole name. */
  readonly name: string;
}

export const NO_FILE_FILTER: FileFilter = { task: '', run: '', name: '' };

/** A node takes either a task or a run: the task is the narrower one. */
export function fileFilterOf(query: string): FileFilter {
  const asked = new URLSearchParams(query);
  const text = (key: string): string => (asked.get(key) ?? '').trim();
  const task = text('task');
  return { task, run: task === '' ? text('run') : '', name: text('name') };
}

/** The filter after one field of it was written. */
export function withField(filter: FileFilter, field: keyof FileFilter, value: string): FileFilter {
  const text = value.trim();
  if (text !== '' && field === 'task') return { ...filter, task: text, run: '' };
  if (text !== '' && field === 'run') return { ...filter, run: text, task: '' };
  return { ...filter, [field]: text };
}

export function queryOfFiles(filter: FileFilter): string {
  return new URLSearchParams(requestOfFiles(filter)).toString();
}

export function requestOfFiles(filter: FileFilter): Partial<FileFilter> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
}

interface Listed {
  readonly id: string;
}

/**
 * The list with its first page read again. What the page should have and has not is gone. What is older stays; if the page has nothing that was
 * shown, what lies between is unknown, and the list begins anew. `goesOn`: the older rows are still there, with the cursor that they had.
 */
export function withNewest<R extends Listed>(
  rows: readonly R[],
  page: readonly R[],
  isAll: boolean,
): { readonly rows: readonly R[]; readonly goesOn: boolean } {
  const known = new Map(rows.map((row) => [row.id, row]));
  // What is known of an artifact never changes.
  const first = page.map((row) => known.get(row.id) ?? row);
  const places = new Map(rows.map(({ id }, i) => [id, i]));
  const last = isAll ? undefined : page.findLast(({ id }) => places.has(id));
  if (last === undefined) return { rows: sameOr(rows, first), goesOn: false };
  const older = rows.slice((places.get(last.id) as number) + 1);
  const ids = new Set(page.map(({ id }) => id));
  const next = [...first, ...older.filter(({ id }) => !ids.has(id))];
  return { rows: sameOr(rows, next), goesOn: next.length > page.length };
}

export function withOlder<R extends Listed>(rows: readonly R[], page: readonly R[]): readonly R[] {
  const ids = new Set(rows.map(({ id }) => id));
  return [...rows, ...page.filter(({ id }) => !ids.has(id))];
}

/** How many of the first page the list does not have. */
export function newOnes(rows: readonly Listed[], page: readonly Listed[]): number {
  const ids = new Set(rows.map(({ id }) => id));
  return page.filter(({ id }) => !ids.has(id)).length;
}

function sameOr<R>(before: readonly R[], after: readonly R[]): readonly R[] {
  return before.length === after.length && after.every((row, i) => row === before[i]) ? before : after;
}

/** The rules of the live list of runs: pages, single runs that were read again, and what comes while the list stands still. */

import { isFinal } from '../task-states.ts';

interface Listed {
  readonly id: string;
  readonly name?: string | undefined;
  readonly kind: string;
  readonly title: string;
  readonly state: string;
  readonly createdAt: number;
}

export interface RunFilter {
  readonly state: string;
  readonly kind: string;
  /** What its name begins with. */
  readonly name: string;
}

export const NO_RUN_FILTER: RunFilter = { state: '', kind: '', name: '' };

export function runFilterOf(query: string): RunFilter {
  const asked = new URLSearchParams(query);
  return { state: asked.get('state') ?? '', kind: asked.get('kind') ?? '', name: asked.get('name') ?? '' };
}

export function queryOfRuns(filter: RunFilter): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) if (value !== '') query.set(key, value as string);
  return query.toString();
}

export function matchesRun(run: Listed, { state, kind, name }: RunFilter): boolean {
  return (
    (state === '' || run.state === state) && (kind === '' || run.kind === kind) && (run.name ?? '').startsWith(name)
  );
}

/** The list with its first page read again. Older runs stay, unless the page has all there are. */
export function withFirstPage<R extends Listed>(rows: readonly R[], page: readonly R[], isAll: boolean): readonly R[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  const first = page.map((row) => keepIfSame(known.get(row.id), row));
  const last = page.at(-1);
  const ids = new Set(page.map(({ id }) => id));
  const older =
    isAll || last === undefined ? [] : rows.filter((row) => !ids.has(row.id) && row.createdAt <= last.createdAt);
  const next = [...first, ...older];
  return next.length === rows.length && next.every((row, i) => row === rows[i]) ? rows : next;
}

export function withNextPage<R extends Listed>(rows: readonly R[], page: readonly R[]): readonly R[] {
  const ids = new Set(rows.map(({ id }) => id));
  return [...rows, ...page.filter(({ id }) => !ids.has(id))];
}

/** The list with a run that was read again. One that no longer belongs here leaves, unless the list stands still. */
export function withRun<R extends Listed>(
  rows: readonly R[],
  run: R,
  filter: RunFilter,
  frozen: boolean,
): readonly R[] {
  const at = rows.findIndex(({ id }) => id === run.id);
  if (at === -1) return rows;
  if (!frozen && !matchesRun(run, filter)) return rows.toSpliced(at, 1);
  const kept = keepIfSame(rows[at], run);
  return kept === rows[at] ? rows : rows.with(at, kept);
}

/** How many runs of the first page the list does not have. */
export function newRuns<R extends Listed>(rows: readonly R[], page: readonly R[]): number {
  const ids = new Set(rows.map(({ id }) => id));
  return page.filter(({ id }) => !ids.has(id)).length;
}

/** The list does not say what a run that was read by itself does: what is known of it stays. */
function keepIfSame<R extends Listed>(before: R | undefined, after: R): R {
  if (before === undefined) return after;
  const merged: R = before.state === after.state ? { ...before, ...after } : after;
  const keys = Object.keys(merged) as (keyof R)[];
  const same =
    keys.length === Object.keys(before).length &&
    keys.every((key) => Object.is(before[key], merged[key]) || isSameLabels(before[key], merged[key]));
  return same ? before : merged;
}

function isSameLabels(a: unknown, b: unknown): boolean {
  return typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b);
}

/** The word beside the state. That the cancel of a cancelled run was requested goes without saying. */
export function whyOf({
  state,
  reason,
  cancelRequestedAt,
}: {
  readonly state: string;
  readonly reason?: string | undefined;
  readonly cancelRequestedAt?: number | undefined;
}): string | undefined {
  if (isFinal(state)) return reason === 'requested' ? undefined : reason;
  return cancelRequestedAt === undefined ? reason : 'cancelling';
}

import type { Limit, LimitCounter } from '../../core/limits/limit.ts';
import type { CounterRecord, LimitChange, LimitRecord, LimitVersion, NamedUse } from '../store.ts';

/** Tasks that wait for a limit are counted up to this: two million took 1.3 s on Postgres, at every scrape of the metrics. */
export const MOST_WAITING = 10_000;

/** A counter joined with its limit, as every store reads it. */
export interface CounterRow {
  readonly id: number;
  readonly key: string;
  readonly cap: number | null;
  readonly active: number;
  readonly tat: number;
  readonly cost_tat: number;
  readonly paused_until: number;
  readonly name: string;
  /** JSON of the limit; null when it was removed. */
  readonly body: string | null;
}

/**
 * A limit has few spellings, and each claim reads its counters. All stores share this map: a text has one value, and a map of each store
 * would be one more parameter on the way of every claim.
 */
const limits = new Map<string, Limit>();
const KEPT = 1000;

export function limitOf(body: string): Limit {
  const known = limits.get(body);
  if (known !== undefined) return known;
  if (limits.size >= KEPT) limits.clear();
  const limit = JSON.parse(body) as Limit;
  limits.set(body, limit);
  return limit;
}

/** The last version of a limit. */
export interface VersionRow {
  /** Null: it was removed. */
  readonly body: string | null;
  readonly revision: number;
  readonly changed_at: number;
  readonly changed_by: string;
}

export function versionOf(row: VersionRow | undefined): LimitVersion | undefined {
  if (row === undefined || row.body === null) return undefined;
  const { body, revision, changed_at: changedAt, changed_by: changedBy } = row;
  return { limit: limitOf(body), revision, changedAt, changedBy };
}

export interface LimitRow extends VersionRow {
  readonly name: string;
  readonly active: number;
  readonly waiting: number;
}

/** The record of a limit that exists. */
export function recordOf({ name, active, waiting, ...row }: LimitRow): LimitRecord {
  return { name, ...(versionOf(row) as LimitVersion), active, waiting };
}

export interface ChangeRow {
  readonly at: number;
  readonly by: string;
  readonly body: string | null;
}

export function changeOf({ at, by, body }: ChangeRow): LimitChange {
  if (body === null) return { at, by, limit: undefined };
  const { paused } = JSON.parse(body) as { paused?: LimitChange['paused'] };
  return paused === undefined ? { at, by, limit: limitOf(body) } : { at, by, limit: undefined, paused };
}

/** A pause as it is stored in the history. */
export function pauseText(key: string, forMs: number): string {
  return JSON.stringify({ paused: { key, forMs } } satisfies Pick<LimitChange, 'paused'>);
}

/** The cap is that of the row. Rates apply to the total, or to each key if the limit says so. */
export function counterOf({
  id,
  key,
  cap,
  active,
  tat,
  cost_tat: costTat,
  paused_until: pausedUntil,
  name,
  body,
}: CounterRow): CounterRecord {
  const limit = body === null ? undefined : limitOf(body);
  const isKey = key !== '';
  const rate = limit?.rate?.perKey === isKey ? limit.rate : undefined;
  const cost = limit?.cost?.perKey === isKey ? limit.cost : undefined;
  return {
    id,
    name,
    key,
    cap: cap ?? undefined,
    active,
    rate,
    cost,
    tat,
    costTat,
    pausedUntil,
  } satisfies LimitCounter & CounterRecord;
}

/** How many tasks a limit allows at once, in total and per key. */
export function capsOf(limit: Limit | undefined): { readonly total: number | null; readonly key: number | null } {
  return { total: limit?.concurrent ?? null, key: limit?.perKey ?? null };
}

/** Whether the limit has only caps. */
export function isPlain(limit: Limit | undefined): boolean {
  return limit?.rate === undefined && limit?.cost === undefined;
}

/** The uses by which limits judge a new task: the key, or the total for a task without a key. */
export function ownUses(uses: readonly NamedUse[]): readonly NamedUse[] {
  return uses.filter(({ name, key }) => key !== '' || !uses.some((use) => use.name === name && use.key !== ''));
}

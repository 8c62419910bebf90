import { fault } from '../../../../core/errors.ts';
import type { Limit, LimitUse } from '../../../../core/limits/limit.ts';
import { editLimit } from '../../../../core/limits/limit-edit.ts';
import {
  type ChangeRow,
  type CounterRow,
  capsOf,
  changeOf,
  counterOf,
  type LimitRow,
  limitOf,
  MOST_WAITING,
  pauseText,
  recordOf,
  type VersionRow,
  versionOf,
} from '../../../rows/limit-counter-rows.ts';
import type {
  CounterDrift,
  CounterHolder,
  CounterRecord,
  LimitChange,
  LimitEdited,
  LimitEditing,
  LimitPause,
  LimitRecord,
  LimitVersion,
  NamedUse,
} from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export interface DefRow extends VersionRow {
  readonly id: number;
}

/** The counters that tasks with these limits take from: the total of each limit and that of the key, made on first use. */
export function usesOf(sql: Prepared, limits: readonly LimitUse[]): readonly NamedUse[] {
  return limits.flatMap(({ name, key, weight, cost }) => {
    const def = sql.get('limitFind').get(name) as DefRow | undefined;
    if (def === undefined || def.body === null) throw fault('NOT_FOUND', { kind: 'limit', id: name });
    const caps = capsOf(limitOf(def.body));
    const keys = key === undefined ? [''] : ['', key];
    return keys.map((own) => ({
      counter: counterFor(sql, def.id, own, own === '' ? caps.total : caps.key),
      weight,
      cost,
      name,
      key: own,
    }));
  });
}

function counterFor(sql: Prepared, def: number, key: string, cap: number | null): number {
  sql.get('slotAdd').run(def, key, cap);
  return (sql.get('slotFind').get(def, key) as { id: number }).id;
}

/** All caps change in the same commit, and no later claim uses the old ones. */
export function putLimit(tx: Transaction, name: string, limit: Limit | undefined, by: string): number {
  const body = limit === undefined ? null : JSON.stringify(limit);
  const { id, revision } = tx.sql.get('limitPut').get(name, body, tx.now, by) as { id: number; revision: number };
  tx.sql.get('limitChangeAdd').run(id, tx.now, by, body);
  const caps = capsOf(limit);
  tx.sql.get('slotAdd').run(id, '', caps.total);
  tx.sql.get('limitCaps').run(caps.total, caps.key, id);
  return revision;
}

export function changeLimit(tx: Transaction, { name, edit, by, ...terms }: LimitEditing): LimitEdited {
  const before = versionOf(tx.sql.get('limitFind').get(name) as DefRow | undefined);
  const limit = editLimit(name, before, edit, terms);
  const after =
    limit === undefined
      ? (before as LimitVersion)
      : { limit, revision: putLimit(tx, name, limit, by), changedAt: tx.now, changedBy: by };
  return { ...(before && { before }), after };
}

export function removeLimit(tx: Transaction, name: string, by: string): boolean {
  const def = tx.sql.get('limitFind').get(name) as DefRow | undefined;
  if (def === undefined || def.body === null) return false;
  putLimit(tx, name, undefined, by);
  return true;
}

export function listLimits(sql: Prepared): readonly LimitRecord[] {
  const rows = sql.get('limitList').all(MOST_WAITING) as unknown as LimitRow[];
  return rows.map(recordOf);
}

export function limitChanges(sql: Prepared, name: string, limit: number): readonly LimitChange[] {
  return (sql.get('limitChanges').all(name, limit) as unknown as ChangeRow[]).map(changeOf);
}

export function countersOfLimit(sql: Prepared, name: string, limit: number): readonly CounterRecord[] {
  return (sql.get('slotsOf').all(name, limit) as unknown as CounterRow[]).map(counterOf);
}

export function getCounter(sql: Prepared, counter: number): CounterRecord | undefined {
  const row = sql.get('slotGet').get(counter) as CounterRow | undefined;
  return row && counterOf(row);
}

export function counterHolders(sql: Prepared, counter: number, limit: number): readonly CounterHolder[] {
  const rows = sql.get('slotHolders').all(counter, limit) as unknown as (Omit<CounterHolder, 'holder'> & {
    holder: number | null;
  })[];
  return rows.map(({ holder, ...row }) => ({ ...row, holder: holder ?? undefined })).sort((a, b) => a.task - b.task);
}

export function pauseCounter(tx: Transaction, name: string, key: string, forMs: number): boolean {
  return tx.sql.get('slotPauseNamed').run(tx.leaseNow + forMs, key, name).changes > 0;
}

/** A handler asked to come back later: tasks that take from the same key wait with it. */
export function pauseFor(tx: Transaction, uses: readonly NamedUse[], { limit, forMs, by }: LimitPause): void {
  for (const name of new Set(uses.map((use) => use.name))) {
    if (limit !== undefined && name !== limit) continue;
    // The key, or the total of a task that has none.
    const use = uses.findLast((one) => one.name === name) as NamedUse;
    const counter = getCounter(tx.sql, use.counter);
    const def = tx.sql.get('limitFind').get(name) as DefRow | undefined;
    const rated = def?.body != null && (limitOf(def.body).rate ?? limitOf(def.body).cost) !== undefined;
    if (counter === undefined || def === undefined || (limit === undefined && !rated)) continue;
    // One line for many tasks that are refused at once.
    if (counter.pausedUntil <= tx.leaseNow)
      tx.sql.get('limitChangeAdd').run(def.id, tx.now, by, pauseText(counter.key, forMs));
    tx.sql.get('slotPause').run(tx.leaseNow + forMs, counter.id);
  }
}

/** Nothing is counted twice, because this transaction is the only writer. */
export function auditCounters(tx: Transaction): readonly CounterDrift[] {
  tx.counters.write(tx.sql);
  const rows = tx.sql.get('slotAudit').all() as unknown as {
    id: number;
    name: string;
    key: string;
    kept: number;
    counted: number;
  }[];
  for (const { id, kept, counted } of rows) tx.sql.get('slotGive').run(kept - counted, id);
  return rows.map(({ name, key, counted, kept }) => ({ name, key, counted, kept }));
}

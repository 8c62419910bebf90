import { keepsName, type NameTaker, nameTaken } from '../../../../core/placement/name-hold.ts';
import { type HoldRow, holdOf } from '../../../rows/records.ts';
import type { NameHolder, NewWorker } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

/** Refuses whoever has to wait for the name. */
export function requireName(tx: Transaction, name: string, by: NameTaker): void {
  const row = tx.sql.get('nameGet').get(name) as HoldRow | undefined;
  if (row !== undefined && keepsName(holdOf(row, tx.leaseNow), by)) throw nameTaken(name);
}

export function takeName(tx: Transaction, { name, incarnation }: NewWorker, by: NameTaker): void {
  tx.sql.get('namePut').run(name, incarnation, by.holder, by.process, by.node ?? null);
}

export function listHolders(sql: Prepared, names: readonly string[]): readonly (NameHolder | undefined)[] {
  const rows = sql.get('nameHolders').all(JSON.stringify(names)) as unknown as (NameHolder & { name: string })[];
  const known = new Map(rows.map(({ name, holder, process }) => [name, { holder, process }]));
  return names.map((name) => known.get(name));
}

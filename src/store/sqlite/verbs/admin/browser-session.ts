import { type BrowserSessionRow, browserSessionOf, sessionTaken } from '../../../rows/browser-session-rows.ts';
import type { BrowserSessionRecord, NewBrowserSession } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function addBrowserSession(tx: Transaction, session: NewBrowserSession): BrowserSessionRecord | undefined {
  const { hash, began, ttlMs, most } = session;
  const [token, admin] = 'token' in began ? [began.token, null] : [null, began.admin];
  if (tx.sql.get('browserSessionTaken').get(hash) !== undefined) throw sessionTaken();
  const row = tx.sql.get('browserSessionAdd').get(tx.now, hash, token, admin, tx.now + ttlMs);
  if (row === undefined) return undefined;
  tx.sql.get('browserSessionTrim').run(token, admin, most);
  return findBrowserSession(tx.sql, hash, tx.now);
}

export function findBrowserSession(sql: Prepared, hash: string, now: number): BrowserSessionRecord | undefined {
  const row = sql.get('browserSessionFind').get(now, hash) as BrowserSessionRow | undefined;
  return row && browserSessionOf(row);
}

/** When those of these sessions expire that have not ended. `ids` is a list in JSON. */
export function keptBrowserSessions(sql: Prepared, ids: string): ReadonlyMap<number, number> {
  const rows = sql.get('browserSessionKept').all(ids) as unknown as Pick<BrowserSessionRow, 'id' | 'expires_at'>[];
  return new Map(rows.map(({ id, expires_at: at }) => [id, at]));
}

export function endBrowserSession(tx: Transaction, hash: string): boolean {
  return tx.sql.get('browserSessionEnd').run(hash).changes > 0;
}

import { type BrowserSessionRow, browserSessionOf, sessionTaken } from '../../../rows/browser-session-rows.ts';
import type { BrowserSessionRecord, NewBrowserSession } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';

/** In a transaction. */
export async function addBrowserSession(
  session: Session,
  flushId: FlushId,
  { hash, began, ttlMs, most }: NewBrowserSession,
): Promise<BrowserSessionRecord | undefined> {
  const [token, admin] = 'token' in began ? [began.token, null] : [null, began.admin];
  const record = await once(session, 'browser', flushId, async (): Promise<BrowserSessionRecord | null> => {
    const added = await session.rows('browserSessionAdd', [hash, token, admin, ttlMs]);
    if (added.length === 0) {
      if ((await session.rows('browserSessionTaken', [hash])).length > 0) throw sessionTaken();
      return null;
    }
    await session.rows('browserSessionTrim', [token, admin, most]);
    return (await findBrowserSession(session, hash)) ?? null;
  });
  return record ?? undefined;
}

export async function findBrowserSession(session: Session, hash: string): Promise<BrowserSessionRecord | undefined> {
  const [row] = await session.all<BrowserSessionRow>('browserSessionFind', [hash]);
  return row && browserSessionOf(row);
}

export async function areBrowserSessionsAlive(session: Session, ids: readonly number[]): Promise<readonly boolean[]> {
  const rows = await session.rows('browserSessionAlive', [numbers(ids)]);
  const live = new Set(rows.map(([id]) => id));
  return ids.map((id) => live.has(id));
}

/** In a transaction. */
export function endBrowserSession(session: Session, flushId: FlushId, hash: string): Promise<boolean> {
  return once(session, 'browser', flushId, async () => (await session.rows('browserSessionEnd', [hash])).length > 0);
}

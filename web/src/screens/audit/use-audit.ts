/** The entries that match a filter: the newest are read again and again, older ones as somebody scrolls to them. */

import { useEffect, useRef, useState } from 'react';
import { type AuditEntry, client } from '../../api.ts';

const PAGE = 100;
const EVERY_MS = 2_000;

export interface AuditFilter {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly face?: AuditEntry['face'];
  readonly outcome?: AuditEntry['outcome'];
}

export interface AuditRows {
  /** Undefined: the first answer is still to come. */
  readonly rows: readonly AuditEntry[] | undefined;
  readonly error: unknown;
  readonly more: () => void;
}

export function useAudit(filter: AuditFilter): AuditRows {
  const key = JSON.stringify(filter);
  const [found, setFound] = useState<{ key: string; rows: readonly AuditEntry[] }>();
  const [error, setError] = useState<unknown>();
  const older = useRef<{ key: string; cursor: string | undefined; busy: boolean }>({
    key,
    cursor: undefined,
    busy: false,
  });

  useEffect(() => {
    const end = new AbortController();
    const read = async (): Promise<void> => {
      try {
        const query = { ...(JSON.parse(key) as AuditFilter), limit: PAGE };
        const page = await client.call('listAudit', { query, signal: end.signal });
        if (older.current.key !== key || older.current.cursor === undefined)
          older.current = { key, cursor: page.cursor, busy: false };
        setFound((before) => ({ key, rows: merged(before?.key === key ? before.rows : [], page.entries) }));
        setError(undefined);
      } catch (problem) {
        if (!end.signal.aborted) setError(problem);
      }
    };
    void read();
    const timer = setInterval(() => document.visibilityState === 'visible' && void read(), EVERY_MS);
    return () => {
      end.abort();
      clearInterval(timer);
    };
  }, [key]);

  const more = (): void => {
    const { cursor, busy } = older.current;
    if (cursor === undefined || busy || older.current.key !== key) return;
    older.current.busy = true;
    client.call('listAudit', { query: { ...filter, cursor, limit: PAGE } }).then(
      (page) => {
        if (older.current.key !== key) return;
        older.current = { key, cursor: page.cursor ?? '0', busy: false };
        setFound((before) => ({ key, rows: merged(before?.key === key ? before.rows : [], page.entries) }));
      },
      () => {
        older.current.busy = false;
      },
    );
  };
  return { rows: found?.key === key ? found.rows : undefined, error, more };
}

/** An entry that has ended meanwhile takes the place of the one that had begun. */
function merged(before: readonly AuditEntry[], read: readonly AuditEntry[]): readonly AuditEntry[] {
  const all = new Map(before.map((entry) => [entry.id, entry]));
  for (const entry of read) all.set(entry.id, entry);
  return [...all.values()].sort((a, b) => b.id - a.id);
}

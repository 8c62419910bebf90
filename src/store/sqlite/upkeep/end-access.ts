import type { DatabaseSync } from 'node:sqlite';
import { SECRET_PIN, secretPinOf } from '../../rows/node-rows.ts';
import { readMeta, writeMeta } from './migrate.ts';
import { credentialsIn, endHoldings, type KnownCredentials } from './restore-credentials.ts';

/** What a restore has ended. */
export interface EndedAccess {
  /** Sessions of browsers. */
  readonly sessions: number;
  /** Tokens of people and programs. */
  readonly tokens: number;
  /** Secrets of workers, and codes for them. */
  readonly secrets: number;
  /** Credentials that some worker may not hold any more until it is given them again. */
  readonly credentials: number;
}

/** What the store that is replaced knows of access. */
export interface KnownAccess {
  /** Live tokens by their hash, with their ends. */
  readonly live: ReadonlyMap<string, number | null>;
  readonly clusterKey: string | undefined;
  /** The fingerprint of the secret that its nodes share. */
  readonly fingerprint: string | undefined;
  readonly credentials: KnownCredentials;
}

const LIVE = 'revoked_at IS NULL AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)';

const has = (db: DatabaseSync, table: string): boolean =>
  db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined;

export function accessIn(db: DatabaseSync, now: number): KnownAccess {
  const sql = `SELECT hash, expires_at FROM entry_token WHERE ${LIVE}`;
  const rows = has(db, 'entry_token') ? db.prepare(sql).all(now) : [];
  const pin = readMeta(db, SECRET_PIN);
  return {
    live: new Map(
      (rows as unknown as { hash: string; expires_at: number | null }[]).map((row) => [row.hash, row.expires_at]),
    ),
    clusterKey: readMeta(db, 'cluster_key'),
    fingerprint: pin === undefined ? undefined : secretPinOf(pin).fingerprint,
    credentials: credentialsIn(db),
  };
}

/**
 * In a restored store: ends every session of a browser, and every token that the replaced store does not know as live. A token
 * that was revoked after the backup, because it had leaked, does not come back. One that is live in both ends when the earlier
 * of the two does.
 */
export function endAccess(db: DatabaseSync, now: number, known: KnownAccess | undefined): EndedAccess {
  const credentials = endHoldings(db, now, known?.credentials);
  const sessions = has(db, 'browser_session') ? Number(db.prepare('DELETE FROM browser_session').run().changes) : 0;
  if (!has(db, 'entry_token')) return { sessions, tokens: 0, secrets: 0, credentials };
  const sql = `SELECT id, kind, hash FROM entry_token WHERE ${LIVE}`;
  const rows = db.prepare(sql).all(now) as unknown as { id: number; kind: string; hash: string }[];
  const revoke = db.prepare('UPDATE entry_token SET revoked_at = ? WHERE id = ?');
  const shorten = db.prepare('UPDATE entry_token SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE id = ?2');
  const ended = { sessions, tokens: 0, secrets: 0, credentials };
  for (const { id, kind, hash } of rows) {
    const end = known?.live.get(hash);
    if (end === undefined) {
      revoke.run(now, id);
      ended[kind === 'bearer' ? 'tokens' : 'secrets'] += 1;
    } else if (end !== null) shorten.run(end, id);
  }
  return ended;
}

/** The restored store goes on with the secret of the one that it replaces, if it is the same cluster: that may be a newer one. */
export function keepSecret(db: DatabaseSync, { clusterKey, fingerprint }: KnownAccess): void {
  if (fingerprint !== undefined && clusterKey === readMeta(db, 'cluster_key')) writeMeta(db, SECRET_PIN, fingerprint);
}

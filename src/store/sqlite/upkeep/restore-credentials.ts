import type { DatabaseSync } from 'node:sqlite';
import { CREDENTIAL } from '../../../core/placement/tag.ts';

/** What the store that is replaced knows of credentials: versions of all names that there ever were, and who is chosen. */
export type KnownCredentials = ReadonlyMap<
  string,
  { readonly version: number; readonly workers: readonly string[]; readonly tags: readonly string[] }
>;

interface Row {
  readonly name: string;
  readonly version: number;
  readonly workers: string;
  readonly tags: string;
}

/** More than anybody sets between a backup and its restoration. */
const AHEAD = 1000;

const has = (db: DatabaseSync): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'credential'").get() !== undefined;
const rowsOf = (db: DatabaseSync): readonly Row[] =>
  has(db) ? (db.prepare('SELECT name, version, workers, tags FROM credential').all() as unknown as Row[]) : [];

export function credentialsIn(db: DatabaseSync): KnownCredentials {
  return new Map(
    rowsOf(db).map(({ name, version, workers, tags }) => [
      name,
      { version, workers: JSON.parse(workers) as string[], tags: JSON.parse(tags) as string[] },
    ]),
  );
}

/**
 * Workers refuse versions that are older than what they have seen. So versions go on behind all that may have been given out since the backup,
 * and what is given again is newer than what was there.
 */
export function raiseVersions(db: DatabaseSync, known: KnownCredentials = new Map()): void {
  const raise = has(db) ? db.prepare('UPDATE credential SET version = ? WHERE name = ?') : undefined;
  for (const { name, version } of rowsOf(db)) {
    raise?.run(Math.max(version, known.get(name)?.version ?? 0) + AHEAD, name);
  }
}

/**
 * Whoever was chosen when the backup was made may have been taken off since. Chosen stays who is so in the store that is replaced, too;
 * without one nobody. All holdings begin anew: what a worker holds and should not, it is told to remove when it comes. Answers how many
 * credentials somebody has lost.
 */
export function endHoldings(db: DatabaseSync, now: number, known: KnownCredentials | undefined): number {
  if (!has(db)) return 0;
  let ended = 0;
  const choose = db.prepare('UPDATE credential SET workers = ?, tags = ?, changed_at = ? WHERE name = ?');
  for (const { name, workers, tags } of rowsOf(db)) {
    const live = known?.get(name);
    const left = (before: string, now: readonly string[] = []): string =>
      JSON.stringify((JSON.parse(before) as string[]).filter((one) => now.includes(one)));
    const [some, tagged] = [left(workers, live?.workers), left(tags, live?.tags)];
    if (some === workers && tagged === tags) continue;
    choose.run(some, tagged, now, name);
    ended += 1;
  }
  beginAnew(db);
  return ended;
}

/** A holding stays as a wish where its worker is chosen still, by name or by a tag that it was given; no worker carries a label. */
function beginAnew(db: DatabaseSync): void {
  db.exec(`DELETE FROM credential_holding WHERE NOT EXISTS (SELECT 1 FROM credential c
      WHERE c.name = credential_holding.credential AND c.sealed IS NOT NULL
        AND (EXISTS (SELECT 1 FROM json_each(c.workers) w WHERE w.value = credential_holding.worker)
          OR EXISTS (SELECT 1 FROM json_each(c.tags) t, worker_setting s, json_each(s.tags) g
            WHERE s.name = credential_holding.worker AND g.value = t.value)))`);
  db.exec(`UPDATE credential_holding SET status = 0, acked = NULL, error = NULL,
      wanted = (SELECT c.version FROM credential c WHERE c.name = credential_holding.credential)`);
  const labelled = db.prepare('SELECT id, tags, own_tags FROM worker WHERE tags LIKE ?').all(`%${CREDENTIAL}%`);
  const set = db.prepare('UPDATE worker SET tags = ?, revision = revision + 1 WHERE id = ?');
  for (const { id, tags, own_tags: own } of labelled as unknown as { id: number; tags: string; own_tags: string }[]) {
    const brought = JSON.parse(own ?? '[]') as string[];
    const kept = (JSON.parse(tags) as string[]).filter((tag) => !tag.startsWith(CREDENTIAL) || brought.includes(tag));
    set.run(JSON.stringify(kept), id);
  }
}

import { type Fragments, few } from '../fragments.ts';

/** Statuses: 0 wanted, 1 stored, 2 removing, 3 removed, 4 failed, 5 told. */
export function credentialStatements({ s, NOW }: Fragments) {
  const SHOWN =
    'name, version, sealed IS NOT NULL AS present, kind, type, workers, tags, level, created_at, changed_at';
  const HOLDING = 'worker, credential, status, wanted, acked, level, error, asked_at, changed_at';
  return {
    credentialGet: `SELECT ${SHOWN} FROM ${s}.credential WHERE name = $1`,
    credentialList: `SELECT ${SHOWN} FROM ${s}.credential WHERE sealed IS NOT NULL ORDER BY name`,
    /** A value that is null leaves that which is there. */
    credentialPut: `INSERT INTO ${s}.credential AS c (name, version, value_version, sealed, kind, type, workers, tags, level, created_at,
        changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${NOW}, ${NOW})
      ON CONFLICT (name) DO UPDATE SET version = excluded.version,
        value_version = CASE WHEN excluded.sealed IS NULL THEN c.value_version ELSE excluded.value_version END,
        sealed = coalesce(excluded.sealed, c.sealed), kind = excluded.kind, type = excluded.type, workers = excluded.workers,
        tags = excluded.tags, level = excluded.level,
        created_at = CASE WHEN c.sealed IS NULL THEN excluded.created_at ELSE c.created_at END, changed_at = excluded.changed_at
      RETURNING ${SHOWN}`,
    credentialDrop: `UPDATE ${s}.credential SET sealed = NULL, type = NULL, workers = '[]', tags = '[]', level = NULL, changed_at = ${NOW}
      WHERE name = $1 AND sealed IS NOT NULL RETURNING ${SHOWN}`,
    credentialValues: `SELECT name, version, value_version, sealed FROM ${s}.credential WHERE sealed IS NOT NULL ORDER BY name`,
    credentialValuesOf: `SELECT name, version, value_version, sealed FROM ${s}.credential
      WHERE sealed IS NOT NULL AND name = ANY($1::text[]) ORDER BY name`,
    credentialLeave: `UPDATE ${s}.credential SET workers = $2, changed_at = ${NOW} WHERE name = $1`,
    credentialRetag: `UPDATE ${s}.credential SET tags = $2, changed_at = ${NOW} WHERE name = $1`,
    credentialReseal: `UPDATE ${s}.credential c SET sealed = x.sealed FROM unnest($1::text[], $2::bigint[], $3::text[]) x(name, version, sealed)
      WHERE c.name = x.name AND c.value_version = x.version AND c.sealed IS NOT NULL`,
    holdingList: `SELECT ${HOLDING} FROM ${s}.credential_holding ORDER BY worker, credential`,
    holdingsAt: `SELECT ${HOLDING} FROM ${s}.credential_holding WHERE worker = $1 ORDER BY credential`,
    /** Whoever takes a label away has committed, or sees the worker that registers. */
    holdingsTake: `SELECT ${HOLDING} FROM ${s}.credential_holding WHERE worker = $1 ORDER BY credential FOR SHARE`,
    holdingsOf: `SELECT ${HOLDING} FROM ${s}.credential_holding WHERE credential = ANY($1::text[]) ORDER BY credential, worker`,
    holdingsPut: `INSERT INTO ${s}.credential_holding AS h (worker, credential, status, wanted, acked, level, error, asked_at, changed_at)
      SELECT worker, credential, status, wanted, acked, level, error, ${NOW}, ${NOW}
      FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::smallint[], $7::text[])
        x(worker, credential, status, wanted, acked, level, error) ORDER BY worker, credential
      ON CONFLICT (worker, credential) DO UPDATE SET status = excluded.status, wanted = excluded.wanted, acked = excluded.acked,
        level = excluded.level, error = excluded.error, changed_at = excluded.changed_at,
        asked_at = CASE WHEN excluded.wanted <> h.wanted OR excluded.status IN (0, 2) AND excluded.status <> h.status
          THEN excluded.asked_at ELSE h.asked_at END`,
    holdingsGo: `DELETE FROM ${s}.credential_holding WHERE (worker, credential) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    holdingsDrop: `DELETE FROM ${s}.credential_holding WHERE worker = $1 RETURNING credential`,
    holdingsPending: `SELECT h.worker, h.credential, h.status, h.wanted, c.level
      FROM ${s}.credential_holding h LEFT JOIN ${s}.credential c ON c.name = h.credential
      WHERE (h.status IN (0, 2) OR (h.status = 1 AND h.acked <> h.wanted)) AND h.worker = ANY($1::text[])
        AND (h.status = 2 OR c.sealed IS NOT NULL AND coalesce((SELECT w.enabled FROM ${s}.worker_setting w WHERE w.name = h.worker), true))
      ORDER BY h.worker, h.credential`,
    signerGet: `SELECT public, sealed FROM ${s}.credential_signer WHERE id = 1`,
    signerPut: `INSERT INTO ${s}.credential_signer (id, public, sealed) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`,
    signerReplace: `UPDATE ${s}.credential_signer SET public = $1, sealed = $2 WHERE id = 1 AND sealed = $3`,
    signerDrop: `DELETE FROM ${s}.credential_signer`,
    /** The workers of all names at once, in the order in which everybody locks them. A lost one may come back. */
    workersOfNames: `SELECT id, name, own_tags FROM ${s}.worker WHERE state <> 3 AND name = ANY($1::text[]) ORDER BY id FOR UPDATE`,
    workersTags: `UPDATE ${s}.worker w SET tags = x.tags, revision = revision + 1 FROM unnest($1::bigint[], $2::text[]) x(id, tags)
      WHERE w.id = x.id AND w.tags <> x.tags AND ${few('x.id')}`,
  } as const;
}
